"""What a node writes to its output step by step, and what a reader sees of it in the same cycle.

Each script is a list of cycles; a cycle is a few instructions, such as ``+a`` (make the key ``a``), ``=a1``
(set it to 1), ``-a`` (remove it).
"""

from lib import (
    REMOVE,
    REMOVE_IF_EXISTS,
    TS,
    TSB,
    TSB_OUT,
    TSD,
    TSD_OUT,
    TSL,
    TSS,
    TSS_OUT,
    Removed,
    Size,
    TimeSeriesSchema,
    compute_node,
    eval_node,
    graph,
    set_delta,
)


@compute_node
def write_dict(a: TS[str], _output: TSD_OUT[str, TS[int]] = None) -> TSD[str, TS[int]]:
    for c in a.value.split():
        what, key = c[0], c[1:2]
        if what == "+":
            _output.get_or_create(key)
        elif what == "=":
            _output.get_or_create(key).value = int(c[2])
        elif what == "s":
            _output[key] = int(c[2])
        elif what == "-":
            del _output[key]
        elif what == "i":
            _output[key].invalidate()
        elif what == "n":
            _output[key].value = None
        elif what == "c":
            _output.clear()
        elif what == "v":
            _output.value = {key: 5}
        elif what == "R":
            return {key: REMOVE}
        elif what == "X":
            return {key: REMOVE_IF_EXISTS}
        elif what == "N":
            return {key: None}
        elif what == "E":
            return {}


def shown(*values):
    """Write values as text that is the same whatever the order of the oracle's hash tables."""
    return " | ".join(ordered(value) for value in values)


def ordered(value):
    if isinstance(value, dict):
        value = list(value.items())
    return str(sorted(value, key=str) if isinstance(value, (list, set, frozenset)) else value)


@compute_node
def read_dict(d: TSD[str, TS[int]]) -> TS[str]:
    keys = d.key_set
    return shown(
        list(d.keys()),
        list(d.valid_keys()),
        list(d.modified_keys()),
        list(d.added_keys()),
        list(d.removed_keys()),
        dict(d.delta_value),
        dict(d.value),
        list(keys.added()),
        list(keys.removed()),
        keys.delta_value is None,
        d.all_valid,
        d.modified,
        [(key, item.value) for key, item in d.removed_items()],
    )


def table_dict():
    for script in (
        ["+a", "-a"],
        ["+a", "=a1", "-a"],
        ["=a1", "ia", "-a"],
        ["=a1", "ia", "=a2"],
        ["=a1", "ia =a2"],
        ["=a1 -a"],
        ["=a1", "-a =a2"],
        ["=a1", "-a +a"],
        ["=a1 =b1", "na", "-a -b"],
        ["+a -a"],
        ["=a1", "=a2 -a"],
        ["=a1", "=a1"],
        ["=a1 +b", "=a2"],
        ["+a", "+a"],
        ["=a1", "c"],
        ["c"],
        ["=a1", "c", "c"],
        ["-a"],
        ["Ra"],
        ["=a1", "Rz"],
        ["=a1", "Ra", "E"],
        ["=a1", "Xz"],
        ["Xz"],
        ["E"],
        ["=a1", "E"],
        ["Na"],
        ["=a1", "Nb"],
        ["=a1", "vb"],
        ["sa1 sa2"],
    ):

        @graph
        def g(a: TS[str]) -> TS[str]:
            return read_dict(write_dict(a))

        yield (
            ",".join(script),
            lambda script=script, g=g: (eval_node(write_dict, script), eval_node(g, script)),
        )


class Pair(TimeSeriesSchema):
    x: TS[int]
    y: TS[str]


@compute_node
def write_bundle(a: TS[str], _output: TSB_OUT[Pair] = None) -> TSB[Pair]:
    change = {}
    for c in a.value.split():
        if c[0] == "x":
            change["x"] = int(c[1:])
        elif c[0] == "y":
            change["y"] = c[1:]
        elif c == "ix":
            _output.x.invalidate()
        elif c == "nx":
            _output.x.value = None
        elif c == "sx":
            _output.x.value = 99
    return change or None


@compute_node(valid=())
def read_bundle(b: TSB[Pair]) -> TS[str]:
    return shown(
        b.valid,
        b.all_valid,
        b.modified,
        b.value,
        b.delta_value,
        list(b.modified_keys()),
        list(b.valid_keys()),
        list(b.keys()),
        (b.x.valid, b.x.modified, b.x.value, b.x.delta_value),
        (b.y.valid, b.y.modified),
        [item.value for item in b],
        len(b),
        b.last_modified_time == b.x.last_modified_time,
    )


def table_bundle():
    for script in (
        ["x1", "y2", "x3 y4"],
        ["x1", "ix", "x2"],
        ["x1", "nx"],
        ["x1 yq", "sx"],
        ["sx x3"],
    ):

        @graph
        def g(a: TS[str]) -> TS[str]:
            return read_bundle(write_bundle(a))

        yield (
            ",".join(script),
            lambda script=script, g=g: (eval_node(write_bundle, script), eval_node(g, script)),
        )


@compute_node
def write_list(a: TS[str], _output=None) -> TSL[TS[int], Size[3]]:
    change = {}
    for c in a.value.split():
        if c[0] == "=":
            change[int(c[1])] = int(c[2:])
        elif c[0] == "i":
            _output[int(c[1])].invalidate()
        elif c[0] == "t":
            return tuple(None if z == "n" else int(z) for z in c[1:])
    return change or None


@compute_node(valid=())
def read_list(b: TSL[TS[int], Size[3]]) -> TS[str]:
    return shown(
        b.modified,
        b.value,
        b.delta_value,
        list(b.modified_keys()),
        list(b.keys()),
        [item.value for item in b.valid_values()],
        [(k, item.value) for k, item in b.valid_items()],
        [item.value for item in b.modified_values()],
        len(b),
    )


def table_list():
    for script in (["=01", "=12", "=23 =04"], ["t123", "tn5n", "i1"], ["t12"], ["=31"]):

        @graph
        def g(a: TS[str]) -> TS[str]:
            return read_list(write_list(a))

        yield (
            ",".join(script),
            lambda script=script, g=g: (eval_node(write_list, script), eval_node(g, script)),
        )


@compute_node
def write_set(a: TS[str], _output: TSS_OUT[str] = None) -> TSS[str]:
    for c in a.value.split():
        what = c[0]
        if what == "+":
            _output.add(c[1])
        elif what == "-":
            _output.remove(c[1])
        elif what == "c":
            _output.clear()
        elif what == "=":
            return set(c[1:])
        elif what == "f":
            return frozenset(c[1:])
        elif what == "d":
            return set_delta(added=set(c[1:]), removed=set())
        elif what == "r":
            return set_delta(added=set(), removed=set(c[1:]))
        elif what == "R":
            return {Removed(c[1])}


@compute_node(valid=())
def read_set(s: TSS[str]) -> TS[str]:
    return shown(
        s.valid,
        s.modified,
        list(s.value or ()),
        list(s.values()),
        list(s.added()),
        list(s.removed()),
        s.was_added("a"),
        s.was_removed("a"),
        "a" in s,
        len(s),
        isinstance(s.value, set),
    )


def table_set():
    for script in (
        ["+a", "+b", "-a"],
        ["=ab", "=bc"],
        ["fab", "fbc"],
        ["=ab", "=ab"],
        ["dab", "ra", "rz"],
        ["+a -a"],
        ["=ab", "-a +a"],
        ["=ab", "c"],
        ["c"],
        ["=ab", "Ra"],
        ["="],
        ["=ab", "="],
        ["f"],
        ["=ab", "f"],
        ["+a", "+a"],
        ["+a", "-z"],
        ["-a"],
        ["Ra"],
        ["+a", "+a +b"],
        ["+a", "c", "c"],
    ):

        @graph
        def g(a: TS[str]) -> TS[str]:
            return read_set(write_set(a))

        yield (
            ",".join(script),
            lambda script=script, g=g: (eval_node(write_set, script), eval_node(g, script)),
        )


def table_given():
    """What inputs make of the values that `eval_node` is given."""

    @compute_node
    def dict_node(a: TSD[str, TS[int]]) -> TS[str]:
        return shown(dict(a.delta_value), dict(a.value))

    for name, values in {
        "empty-after": [{"a": 1}, {}],
        "empty": [{}],
        "removed-missing": [{"a": REMOVE}],
        "removed-if-there": [{"a": REMOVE_IF_EXISTS}],
        "removed-if-there-after": [{"a": 1}, {"a": REMOVE_IF_EXISTS}],
        "none": [{"a": None}],
        "none-after": [{"a": 1}, {"a": None}],
    }.items():
        yield f"dict-{name}", lambda values=values: eval_node(dict_node, values)

    @compute_node
    def set_node(a: TSS[str]) -> TS[str]:
        return shown(list(a.added()), list(a.removed()), list(a.value))

    for name, values in {
        "empty-after": [{"a"}, set()],
        "empty": [set()],
        "removed-missing": [{Removed("a")}],
        "removed-missing-after": [{"a"}, {Removed("z")}],
        "again": [{"a"}, {"a"}],
        "frozen": [frozenset({"a"}), frozenset({"b"})],
    }.items():
        yield f"set-{name}", lambda values=values: eval_node(set_node, values)


def table_result():
    """What outputs make of what a node returns."""

    def node(tp):
        @compute_node
        def result(a: TS[str]) -> tp:
            return eval(a.value, {"frozenset": frozenset})

        return result

    rows = {
        "list": (
            TSL[TS[int], Size[2]],
            ["()"],
            ["{}"],
            ["(1,2)", "(None,None)"],
            ["[1,2]"],
            ["(1,2,3)"],
        ),
        "bundle": (TSB[Pair], ["{}"], ["{'x':1}", "{}"], ["{'z':1}"], ["{'x':None,'y':'a'}"]),
        "int": (TS[int], ["True"], ["'a'"], ["1.5"], ["None"]),
        "float": (TS[float], ["1"], ["True"], ["'a'"]),
        "bool": (TS[bool], ["True"], ["'a'"], ["1"]),
        "tuple": (TS[tuple[int, ...]], ["[1]"], ["()"], ["1"]),
        "frozenset": (TS[frozenset[int]], ["{1}"], ["frozenset({1})"], ["[1]"]),
        "object": (TS[object], ["(1,'a')"], ["[1]", "{}"]),
    }
    for name, (tp, *scripts) in rows.items():
        for script in scripts:
            yield (
                f"{name}-{' '.join(script)}",
                lambda tp=tp, script=script: eval_node(node(tp), script),
            )


def table_delta():
    """`delta_value` of what did not tick: of an input, and of a part of one that did."""

    def reader(tp):
        @compute_node
        def read(t: TS[int], a: tp) -> TS[str]:
            return f"{a.modified} {a.delta_value}"

        @graph
        def g(t: TS[int], a: tp) -> TS[str]:
            return read(t, a)

        return g

    for name, tp, values in (
        ("ts", TS[int], [1, None, 2]),
        ("bundle", TSB[Pair], [{"x": 1}, None, {"y": "a"}]),
        ("list", TSL[TS[int], Size[2]], [{0: 1}, None, {1: 2}]),
        ("dict", TSD[str, TS[int]], [{"a": 1}, None, {"b": 2}]),
        ("nested", TSD[str, TSD[str, TS[int]]], [{"a": {"x": 1}}, None, {"b": {"y": 2}}]),
        ("tuple", TS[tuple[int, ...]], [(1,), None, (2,)]),
    ):
        yield name, lambda tp=tp, values=values: eval_node(reader(tp), [None, 1, None, 2], values)

    @compute_node
    def parts(a: TSD[str, TSL[TS[int], Size[2]]]) -> TS[str]:
        return shown([(k, v.delta_value, v[0].delta_value) for k, v in a.items()])

    yield "parts", lambda: eval_node(parts, [{"a": (1, 2)}, {"a": {0: 3}}, {"b": (1, 2)}])
