"""The map of operators: every public operator name of hgraph 0.8, by subject.

``tools/operator_table.py`` writes ``docs/reference/operators.md`` from this and from what is there, and a test
compares the two, so the page cannot fall behind the code.
"""

from typing import Any

GROUPS: dict[str, tuple[str, ...]] = {
    "Arithmetic and bits": (
        "add_", "sub_", "mul_", "div_", "floordiv_", "mod_", "divmod_", "pow_", "neg_", "pos_", "abs_",
        "sign", "ln", "round_", "lshift_", "rshift_", "bit_and", "bit_or", "bit_xor", "invert_",
    ),
    "Comparison and logic": (
        "eq_", "ne_", "lt_", "le_", "gt_", "ge_", "cmp_", "and_", "or_", "not_", "all_", "any_",
    ),
    "Parts and size": (
        "getattr_", "setattr_", "getitem_", "contains_", "index_of", "len_", "is_empty", "str_", "type_",
    ),
    "Text": ("format_", "join", "split", "substr", "match_", "replace"),
    "Dates and times": (
        "year", "month", "month_of_year", "day", "day_of_month", "weekday", "isoweekday", "isoformat",
        "hour", "minute", "second", "microsecond", "timestamp", "datepart", "days", "seconds",
        "microseconds", "total_seconds", "explode", "temporal_floor", "temporal_ceil", "temporal_round",
        "evaluation_time_in_range", "last_modified_time", "last_modified_date",
        "last_modified_wall_clock_time",
    ),
    "Sets and dictionaries": (
        "union", "intersection", "difference", "symmetric_difference", "keys_", "values_", "flip",
        "flip_keys", "collapse_keys", "uncollapse_keys", "rekey", "partition", "unpartition", "filter_by", "make_tsd",
        "reduce_tsd_with_race", "reduce_tsd_of_bundles_with_race",
    ),
    "Choice": (
        "if_", "if_then_else", "if_true", "if_cmp", "route_by_index", "merge", "race", "default",
    ),
    "Ticks in time": (
        "filter_", "until_true", "freeze", "take", "drop", "step", "slice_", "dedup", "drop_dups", "lag",
        "gate", "batch", "throttle", "resample", "sample", "schedule", "to_window", "window", "valid",
        "modified",
    ),
    "Statistics": (
        "sum_", "mean", "min_", "max_", "std", "var", "count", "diff", "clip", "ewma", "pct_change",
        "rolling_average", "quantile", "average", "accumulate", "span_to_alpha",
        "center_of_mass_to_alpha",
    ),
    "Conversion": ("convert", "combine", "collect", "emit", "cast_", "downcast_"),
    "Sources and sinks": (
        "const", "nothing", "zero", "null_sink", "debug_print", "print_", "log_", "assert_", "apply",
        "call", "stop_engine", "pass_through_node",
    ),
    "Graphs inside graphs": ("map_", "reduce", "switch_", "try_except", "exception_time_series"),
    "Record and replay": ("record", "replay", "compare", "replay_const", "get_recorded_value"),
    "References": ("dereference", "downcast_ref"),
    "Arrays": ("as_array", "corrcoef", "cumsum", "get_item", "np_std"),
    "Services, adaptors and components": (
        "service_impl", "reference_service", "subscription_service", "request_reply_service",
        "register_service", "adaptor", "adaptor_impl", "register_adaptor", "service_adaptor",
        "service_adaptor_impl", "component", "request_id", "mesh_", "dispatch", "dispatch_", "spawn_",
    ),
    "JSON, tables and frames": (
        "to_json", "from_json", "json_encode", "json_decode", "json_as_bool", "json_as_float",
        "json_as_int", "json_as_str", "to_table", "from_table", "from_table_const", "to_data_frame",
        "from_data_frame", "from_data_frame_batches", "replay_data_frame", "filter_frame", "filter_cs",
        "group_by", "ungroup", "with_columns", "sorted_", "concat",
    ),
    "Calendar, zones and ranges": (
        "at_zone", "convert_zone", "resolve_civil", "to_civil", "to_instant", "temporal_bucket",
        "range_adjacent", "range_contains", "range_difference", "range_extent", "range_hull",
        "range_intersection", "range_merge", "range_mergeable", "range_overlaps", "range_shift",
        "range_touches", "range_union",
    ),
}  # fmt: skip


def kinds_of(operator: Any) -> list[str]:
    """Return what an operator takes and gives, a line for each overload, in the order they are tried."""
    signatures = getattr(operator, "overload_signatures", None)
    return sorted(signatures()) if callable(signatures) else []


def rows(public: Any) -> list[tuple[str, str, bool, str]]:
    """Return ``(group, name, is there?, what it does)`` for every name; ``public`` is the graph layer."""
    found = []
    for group, names in GROUPS.items():
        for name in names:
            operator = vars(public).get(name)  # not what stands for one that is to come
            text = (
                (getattr(operator, "__doc__", None) or "")
                .strip()
                .split("\n\n")[0]
                .replace("\n", " ")
            )
            found.append((group, name, operator is not None, " ".join(text.split())))
    return found
