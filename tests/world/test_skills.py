"""Skills: checked arguments, schemas, permissions, the approval gate, and undoing."""

from __future__ import annotations

import logging
import re
from typing import Annotated, Literal

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mainspring.state import digest
from mainspring.world import Entity, Outcome, SkillContext, SkillError, SkillRefused, World
from mainspring.world._calls import DEPTH_MAX


class Cargo(msgspec.Struct):
    weight: float
    labels: list[str] = []


class Hold(msgspec.Struct):
    loads: list[str] = []


@pytest.fixture
def world() -> World:
    made = World(seed=7)
    made.component("health", np.int64, default=10)
    made.component(Hold)
    made.grant("ann", "yard.move")
    return made


def add_move(world: World):
    @world.skill(permission="yard.move")
    def move(entity: Entity, by: tuple[float, float, float], times: int = 1) -> list[float]:
        """Shift an entity."""
        for _ in range(times):
            entity.position += by
        return entity.position.tolist()

    return move


# ---- one call ------------------------------------------------------------------------------


def test_an_accepted_call(world: World):
    add_move(world)
    world.spawn()
    outcome = world.invoke("ann", "move", {"entity": "ent_1", "by": [1, 2, 3], "times": 2})
    assert outcome == Outcome(status="accepted", skill="move", actor="ann", value=[2, 4, 6])
    assert outcome.unwrap() == [2, 4, 6]
    assert world.entity("ent_1").position.tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    ("actor", "skill", "arguments", "code", "reason"),
    [
        ("ann", "mvoe", {}, "unknown_skill", "did you mean 'move'"),
        ("bob", "move", {"entity": "ent_1", "by": [1, 2, 3]}, "permission", "yard.move"),
        ("ann", "move", {"entity": "ent_1"}, "arguments", "missing required field `by`"),
        ("ann", "move", {"entity": "ent_1", "by": [1, 2]}, "arguments", "length 3"),
        ("ann", "move", {"entity": "ent_1", "by": [1, 2, "x"]}, "arguments", r"\$.by\[2\]"),
        (
            "ann",
            "move",
            {"entity": "ent_2", "by": [1, 2, 3]},
            "arguments",
            "not the id of a living",
        ),
        ("ann", "move", {"entity": 1, "by": [1, 2, 3]}, "arguments", "not the id of a living"),
        ("ann", "move", {"entity": "ent_1", "by": [1, 2, 3], "x": 1}, "arguments", "unknown field"),
        ("ann", "move", {"entity": "ent_1", "by": [1, 2, 3], "times": "2"}, "arguments", "times"),
        ("ann", "move", [1, 2], "arguments", "Expected `object`"),
        ("ann", "move", {"entity": object()}, "arguments", r"arguments\['entity'\]"),
    ],
)
def test_a_refused_call_says_why_and_changes_nothing(
    world: World, actor: str, skill: str, arguments: object, code: str, reason: str
):
    add_move(world)
    world.spawn()
    before = digest(world.save())
    outcome = world.invoke(actor, skill, arguments)
    assert outcome.refused
    assert outcome.code == code
    assert re.search(reason, outcome.reason), outcome.reason
    assert digest(world.save()) == before
    with pytest.raises(SkillError):
        outcome.unwrap()


def test_permissions_cover_by_prefix_and_come_from_the_caller_too(world: World):
    add_move(world)
    world.spawn()
    call = {"entity": "ent_1", "by": [1, 0, 0]}
    assert world.invoke("bob", "move", call, permissions=["yard.*"]).accepted
    assert world.invoke("bob", "move", call, permissions=["*"]).accepted
    assert (
        world.invoke("bob", "move", call, permissions=["yard", "yard.mov", "ya.*"]).code
        == "permission"
    )
    assert world.invoke("ann", "move", call, permissions=[]).code == "permission"
    world.grant("*", "yard.move")
    assert world.invoke("anybody", "move", call).accepted
    world.revoke("*")
    world.revoke("ann", "yard.move")
    assert world.invoke("ann", "move", call).code == "permission"
    with pytest.raises(SkillError, match="several strings"):
        world.invoke("ann", "move", call, permissions="yard.move")


def test_values_arrive_as_they_are_annotated(world: World):
    seen: list[object] = []

    @world.skill
    def take(
        cargo: Cargo,
        mode: Literal["soft", "hard"],
        speed: Annotated[float, msgspec.Meta(gt=0, description="metres a second")],
        path: NDArray[np.float32],
        who: list[Entity] | None = None,
        tags: list[str] = ["x"],  # noqa: B006
    ) -> None:
        seen.extend((cargo, mode, speed, path, who, tags))
        tags.append("mine")

    entity = world.spawn()
    for _ in range(2):
        seen.clear()
        world.invoke(
            "ann",
            "take",
            {
                "cargo": {"weight": 3},
                "mode": "soft",
                "speed": 1,
                "path": np.arange(6).reshape(2, 3),
                "who": [entity],
            },
        ).unwrap()
        assert seen[0] == Cargo(3.0)
        assert seen[1:3] == ["soft", 1.0]
        assert seen[3].dtype == np.float32
        assert seen[3].shape == (2, 3)
        assert seen[4] == [entity]
        assert seen[5] == ["x", "mine"]
    assert world.invoke(
        "a", "take", {"cargo": {"weight": 1}, "mode": "hard", "speed": 0, "path": []}
    ).refused


def test_the_context_is_given_not_asked_for(world: World):
    @world.skill(permission="p")
    def who(context: SkillContext) -> list[object]:
        return [context.actor, context.may("p"), context.may("q"), context.time_ns, context.seq]

    assert world.invoke("ann", "who", permissions=["p"]).value == ["ann", True, False, 0, None]
    assert world.skills["who"].schema["properties"] == {}


def test_what_is_given_may_go_by_name_or_be_the_world(world: World):
    @world.skill
    def look(ctx, world: World, tag: str) -> list[object]:
        return [ctx.actor, world.query(tag).ids]

    world.spawn(tags="x")
    assert world.invoke("ann", "look", {"tag": "x"}).value == ["ann", ["ent_1"]]
    assert list(world.skills["look"].schema["properties"]) == ["tag"]
    assert world.invoke("ann", "look", {"tag": "x", "ctx": 1}).code == "arguments"


def test_results_are_plain_data(world: World):
    @world.skill
    def build() -> dict[str, object]:
        made = world.spawn()
        return {"made": made, "where": made.position, "all": (made,)}

    assert world.invoke("a", "build").value == {
        "made": "ent_1",
        "where": [0, 0, 0],
        "all": ("ent_1",),
    }

    @world.skill
    def leak() -> object:
        world.spawn()
        return print

    assert world.invoke("a", "leak").code == "error"
    assert world.ids == ["ent_1"]


def test_a_skill_is_still_a_function(world: World):
    move = add_move(world)
    entity = world.spawn()
    assert move(entity, (1, 0, 0)) == [1, 0, 0]
    assert world.invoke("ann", move, {"entity": entity, "by": (1, 0, 0)}).value == [2, 0, 0]
    assert move.__doc__ == "Shift an entity."


# ---- declaring -----------------------------------------------------------------------------


def test_what_cannot_be_a_skill(world: World):
    async def slow() -> None: ...

    def bare(x) -> None: ...

    def anything(*things: int) -> None: ...

    def odd(x: NotThere) -> None: ...  # noqa: F821

    def only(x: int, /) -> None: ...

    for function, match in (
        (slow, "coroutine"),
        (bare, "no annotation"),
        (anything, "takes anything"),
        (odd, "cannot be found"),
        (only, "positional only"),
        (lambda: None, "cannot name a skill"),
    ):
        with pytest.raises(SkillError, match=match):
            world.skill(function)
    assert len(world.skills) == 0


def test_two_skills_of_one_name(world: World):
    add_move(world)
    with pytest.raises(SkillError, match="already"):
        add_move(world)
    world.skill(name="move", replace=True)(lambda: 5)
    assert world.invoke("a", "move").value == 5


def test_types_of_the_enclosing_function_are_found(world: World):
    class Local(msgspec.Struct):
        x: int

    @world.skill
    def use(it: Local) -> int:
        return it.x

    assert world.invoke("a", "use", {"it": {"x": 4}}).value == 4


# ---- JSON Schema ---------------------------------------------------------------------------


def test_the_schema_says_what_is_accepted(world: World):
    @world.skill(permission="p", description="Load cargo.")
    def load(
        entity: Entity, cargo: Cargo, count: Annotated[int, msgspec.Meta(ge=1)] = 1
    ) -> None: ...

    (tool,) = world.skills.describe()
    assert tool["name"] == "load"
    assert tool["description"] == "Load cargo."
    assert tool["permission"] == "p"
    schema = tool["parameters"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["required"] == ["entity", "cargo"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {"type": "integer", "minimum": 1, "default": 1}
    assert world.skills.describe(permissions=["q"]) == []

    world.spawn()
    good = {"entity": "ent_1", "cargo": {"weight": 1.5, "labels": ["a"]}}
    for arguments in (
        good,
        {**good, "count": 3},
        {**good, "count": 0},
        {**good, "count": 1.5},
        {**good, "entity": "crate"},
        {**good, "cargo": {}},
        {**good, "cargo": {"weight": "heavy"}},
        {**good, "more": 1},
        {"entity": "ent_1"},
        {},
    ):
        fits = jsonschema.Draft202012Validator(schema).is_valid(arguments)
        assert world.invoke("a", "load", arguments, permissions=["p"]).accepted == fits, arguments


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["ent_1", "ent_2", "soft", "hard"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.one_of(
        json_values,
        st.dictionaries(
            st.sampled_from(["entity", "cargo", "mode", "speed", "other", "near", "x"]), json_values
        ),
        st.fixed_dictionaries(
            {
                "entity": st.sampled_from(["ent_1", "ent_7", "x"]),
                "cargo": st.fixed_dictionaries({"weight": st.floats(0, 5) | st.integers(0, 5)}),
                "mode": st.sampled_from(["soft", "hard", "wet"]),
                "speed": st.floats(-1, 3),
            },
            optional={"near": st.none() | st.just("ent_1"), "other": json_values},
        ),
    )
)
def test_no_arguments_make_it_raise_and_the_schema_agrees(arguments: object):
    world = World()
    world.spawn()

    @world.skill
    def take(
        entity: Entity,
        cargo: Cargo,
        mode: Literal["soft", "hard"],
        speed: Annotated[float, msgspec.Meta(gt=0)],
        near: Entity | None = None,
    ) -> None:
        assert entity.alive
        assert speed > 0

    outcome = world.invoke("a", "take", arguments)
    assert outcome.status in ("accepted", "refused")
    if outcome.accepted:
        assert jsonschema.Draft202012Validator(world.skills["take"].schema).is_valid(arguments)
    else:
        assert outcome.code == "arguments"
        assert outcome.reason


# ---- undoing -------------------------------------------------------------------------------


def test_a_skill_that_raises_leaves_no_trace(world: World, caplog: pytest.LogCaptureFixture):
    @world.skill
    def wreck(fail: bool) -> None:
        first, second, third = world.get("ent_1"), world.get("ent_2"), world.get("ent_3")
        first.position += 1
        first.health -= 3
        first.hold.loads.append("bomb")
        second.tag("doomed")
        second.set(Hold(["new"]))
        second.remove("hold")
        world.destroy(second)
        world.column("velocity")[:] = 8  # closes the hole: rows move
        third.position[1] = 5
        third.rotation = (0, 1, 0, 0)
        born = world.spawn(Hold(), tags="born", health=1)
        world.spawn_many(3, scale=2)
        born.destroy()
        third.hold = Hold(["swapped"])
        third.hold.loads.append("more")
        world.query("born").ids  # noqa: B018
        world.entity("ent_4").destroy()
        world.column("scale")[:] = 0
        world.random("dice").random(5)
        world.random("new stream").random()
        world.grant("eve", "*")
        if fail:
            raise RuntimeError("no")

    for n in range(1, 5):
        world.spawn(Hold([f"load {n}"]), tags=["old"], position=(n, n, n), health=n)
    world.random("dice").random()
    twin = World(seed=7)
    twin.component("health", np.int64, default=10)
    twin.component(Hold)
    twin.restore(world.save())
    before = digest(world.save())
    kept = world.entity("ent_1").hold

    with caplog.at_level(logging.WARNING, logger="mainspring.world"):
        outcome = world.invoke("a", "wreck", {"fail": True})
    assert (outcome.code, outcome.reason) == ("error", "RuntimeError: no")
    assert "wreck" in caplog.text
    assert digest(world.save()) == before
    assert world.entity("ent_1").hold is kept
    assert world.spawn().id == "ent_5"
    world.destroy("ent_5")

    # And what follows goes as if it had never been called.
    twin.spawn()
    twin.destroy("ent_5")
    assert world.random("dice").random() == twin.random("dice").random()
    assert world.invoke("a", "wreck", {"fail": False}).accepted
    assert digest(world.save()) != before


def test_a_row_that_becomes_anothers_during_a_call_is_undone_for_both(world: World):
    @world.skill
    def shuffle() -> None:
        world.entity("ent_2").position = (9, 9, 9)
        world.entity("ent_2").hold.loads.append("x")
        world.destroy("ent_1")
        world.column("scale")  # closes the hole: ent_3 now stands where ent_2 stood
        world.entity("ent_3").position = (8, 8, 8)
        world.entity("ent_2").position = (7, 7, 7)
        world.entity("ent_2").hold.loads.append("y")
        raise SkillRefused("no")

    for n in (1, 2, 3):
        world.spawn(Hold([f"{n}"]), position=(n, n, n))
    before = digest(world.save())
    assert world.invoke("a", "shuffle").refused
    assert digest(world.save()) == before


def test_arrays_held_from_before_are_undone_too(world: World):
    world.spawn_many(3)
    held = world.column("position")
    row = world.entity("ent_2").velocity

    @world.skill
    def sneak() -> None:
        held[:] = 5
        row[:] = 6
        raise SkillRefused("caught")

    before = digest(world.save())
    outcome = world.invoke("a", "sneak")
    assert (outcome.code, outcome.reason) == ("refused", "caught")
    assert digest(world.save()) == before
    assert held[0, 0] == 0


def test_an_inner_skill_is_undone_alone(world: World):
    @world.skill
    def inner(fail: bool) -> None:
        world.entity("ent_1").position += 1
        world.spawn()
        if fail:
            raise ValueError

    @world.skill
    def outer(fail: bool) -> list[str]:
        world.entity("ent_1").position += 10
        results = [world.invoke("a", "inner", {"fail": f}).status for f in (False, True, False)]
        if fail:
            raise ValueError
        return results

    world.spawn()
    before = digest(world.save())
    told: list[str] = []
    end = world.on_outcome(lambda outcome: told.append(outcome.skill))
    assert world.invoke("a", "outer", {"fail": True}).refused
    assert digest(world.save()) == before
    assert world.invoke("a", "outer", {"fail": False}).value == ["accepted", "refused", "accepted"]
    assert world.entity("ent_1").position.tolist() == [12, 12, 12]
    assert world.ids == ["ent_1", "ent_2", "ent_3"]
    end()
    world.invoke("a", "inner", {"fail": False})
    assert told == ["outer", "outer"]


def test_ctrl_c_in_a_skill_is_undone_and_goes_on_up(world: World):
    @world.skill
    def stop() -> None:
        world.spawn()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.invoke("a", "stop")
    assert len(world) == 0
    assert world.table.journal is None


def test_a_skill_may_not_declare_nor_restore(world: World):
    saved = world.save()

    @world.skill
    def declare() -> None:
        world.component("late")

    @world.skill
    def rewind() -> None:
        world.restore(saved)

    assert "cannot be declared by a skill" in world.invoke("a", "declare").reason
    assert "cannot restore" in world.invoke("a", "rewind").reason


# ---- the approval gate ---------------------------------------------------------------------


@pytest.fixture
def gated(world: World) -> World:
    @world.skill(permission="yard.blast", approval="yard.boss")
    def blast(entity: Entity) -> str:
        """Blow it up."""
        entity.destroy()
        return "boom"

    world.grant("ann", "yard.blast")
    world.grant("boss", "yard.boss")
    world.spawn_many(3)
    return world


def test_a_call_waits_is_granted_and_runs(gated: World):
    outcome = gated.invoke("ann", "blast", {"entity": "ent_1"})
    assert outcome.pending
    assert outcome.request == "req_1"
    assert gated.approvals.status("req_1") == "pending"
    assert [r.arguments for r in gated.approvals] == [{"entity": "ent_1"}]
    assert len(gated) == 3
    told: list[Outcome] = []
    gated.on_outcome(told.append)
    answer = gated.approve("req_1", by="boss")
    assert answer.value == {"status": "accepted", "value": "boom", "reason": ""}
    assert len(gated) == 2
    assert gated.approvals.status("req_1") == "granted"
    assert [(o.skill, o.actor, o.status, o.request) for o in told] == [
        ("blast", "ann", "accepted", "req_1"),
        ("approval.grant", "boss", "accepted", None),
    ]
    again = gated.approve("req_1", by="boss")
    assert "was granted by boss already" in again.reason


def test_a_call_is_denied(gated: World):
    gated.invoke("ann", "blast", {"entity": "ent_1"})
    told: list[Outcome] = []
    gated.on_outcome(told.append)
    assert gated.deny("req_1", by="boss", reason="too close").accepted
    assert told[0].code == "denied"
    assert told[0].reason == "denied by boss: too close"
    assert gated.approvals.status("req_1") == "denied"
    assert len(gated) == 3


def test_only_the_right_people_decide(gated: World):
    gated.invoke("ann", "blast", {"entity": "ent_1"})
    for actor in ("ann", "nobody"):
        assert "takes permission 'yard.boss'" in gated.approve("req_1", by=actor).reason
    assert "no approval request 'req_9'" in gated.approve("req_9", by="boss").reason
    assert gated.approvals.status("req_1") == "pending"
    assert gated.invoke("eve", "blast", {"entity": "ent_1"}).code == "permission"
    assert gated.invoke("ann", "blast", {"entity": 5}).code == "arguments"
    assert len(gated.approvals) == 1


def test_what_was_asked_may_have_become_impossible(gated: World):
    gated.invoke("ann", "blast", {"entity": "ent_1"})
    gated.destroy("ent_1")
    answer = gated.approve("req_1", by="boss")
    assert answer.accepted
    assert answer.value["status"] == "refused"
    assert "not the id of a living entity" in answer.value["reason"]


def test_pending_requests_are_state(gated: World):
    empty = digest(gated.save())
    gated.invoke("ann", "blast", {"entity": "ent_2"})
    saved = gated.save()
    assert digest(saved) != empty
    gated.approve("req_1", by="boss")
    gated.restore(saved)
    assert gated.approvals.status("req_1") == "pending"
    assert digest(gated.save()) == digest(saved)
    assert gated.approve("req_1", by="boss").value["value"] == "boom"
    assert gated.ids == ["ent_1", "ent_3"]


def test_skills_that_call_each_other_for_ever_end_at_the_same_depth(world: World):
    """However deep the stack is on which the clock is advanced: a replay must end there too."""

    @world.skill
    def again(depth: int) -> int:
        world.spawn()
        inner = world.invoke("ann", "again", {"depth": depth + 1})
        return depth if inner.refused else inner.value

    def deep_down(levels: int) -> Outcome:
        if levels:
            return deep_down(levels - 1)
        return world.invoke("ann", "again", {"depth": 1})

    assert [deep_down(levels).value for levels in (0, 300)] == [DEPTH_MAX] * 2
    assert len(world) == 2 * DEPTH_MAX


@pytest.mark.parametrize("odd", [None, 3, b"ann"])
def test_names_that_are_no_strings_are_refused_at_the_door(world: World, odd: object):
    """They would be in the state, and could not be sorted, saved or sent."""
    before = digest(world.save())
    for wrong in (
        lambda: world.grant(odd, "yard.move"),
        lambda: world.grant("ann", odd),
        lambda: world.revoke(odd),
        lambda: world.invoke(odd, "push"),
        lambda: world.invoke("ann", odd),
        lambda: world.submit(odd, "push"),
        lambda: world.submit("ann", odd),
        lambda: world.submit("ann", "push", permissions=[odd]),
    ):
        with pytest.raises(SkillError):
            wrong()
    assert digest(world.save()) == before
