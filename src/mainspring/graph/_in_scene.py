"""A graph in a scene: it runs at a place of the scene's plan, on the scene's timeline.

    >>> from mainspring import Scene
    >>> from mainspring.graph import TS, compute_node, graph
    >>> @compute_node
    ... def double(ts: TS[int]) -> TS[int]:
    ...     return ts.value * 2
    >>> @graph
    ... def doubled(step: TS[int]) -> TS[int]:
    ...     return double(step)
    >>> scene = Scene()
    >>> part = attach(scene, doubled, inputs={"step": runner_step})
    >>> _ = scene.advance(steps=3)
    >>> part.value
    4

In one step, in order: inputs are sampled (a function that takes nothing, or the step's context;
None does not tick), the messages that came through the inbox are handed over, the graph is
evaluated once, and what it returns can be read. Whatever the graph schedules by itself becomes a
wake-up of the scene's timeline, at which it runs at the same place without sampling.

Time 0 of the scene is `start_time` of the graph.

The graph is state of its scene: values, schedules, what nodes keep and what they share in its own
`GlobalState`, nested graphs and messages that wait are saved, restored and hashed with it. What
cannot be encoded is refused with its node's name.
"""

from __future__ import annotations

import datetime as _dt
import importlib
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec.structs import replace

from mainspring._kernel import graph as _k
from mainspring.clock import ClockError, Input, Phase, StepContext
from mainspring.errors import nearest
from mainspring.graph._description import GraphDescription, NodeDescription
from mainspring.graph._errors import GraphError
from mainspring.graph._injectables import GlobalState, in_force
from mainspring.graph._run import (
    MAX_ET,
    MIN_ST,
    EvaluationMode,
    GraphConfiguration,
    RunningGraph,
)
from mainspring.graph._wiring import Context, WiringNode, WiringPort, describe, plain, wiring
from mainspring.graph._wiring import Input as _WiringInput

__all__ = ["PUSH", "GraphSubsystem", "attach", "runner_step", "runner_time"]

PUSH = "push"
"""The kind of an input that a push source was sent."""
_TICK_NS = 1000  # the distance of neighbouring cycles


def runner_step(context: StepContext) -> int:
    """An input: which of its runner's steps this is."""
    return context.step


def runner_time(context: StepContext) -> int:
    """An input: the sim time of the step, in nanoseconds."""
    return context.time


def attach(
    scene: Any,
    graph: Any,
    *args: Any,
    name: str | None = None,
    runner: Any = 0,
    phase: Any = Phase.CONTROL,
    priority: int = 0,
    inputs: Mapping[str, Callable[..., Any]] | None = None,
    output: Callable[[Any], object] | None = None,
    start_time: _dt.datetime = MIN_ST,
    **kwargs: Any,
) -> GraphSubsystem:
    """Adds a graph to a scene. `inputs` gives its time series by parameter name; `output` is
    called with the change whenever what it returns ticks, in the same step."""
    part = GraphSubsystem(
        graph, *args, inputs=inputs, output=output, start_time=start_time, **kwargs
    )
    scene.add(part, name=name or part.name, runner=runner, phase=phase, priority=priority)
    return part


class GraphSubsystem:
    """A graph as a part of a scene; `attach` makes one, a scene file names this class:

    [[subsystem]]
    type = "mainspring.graph:GraphSubsystem"
    runner = "Robot"
    args = { graph = "my_module:my_graph", inputs = { step = "mainspring.graph:runner_step" } }
    """

    default_runner: str | int = 0
    default_phase = Phase.CONTROL
    default_priority = 0
    watching = False

    def __init__(
        self,
        graph: Any,
        *args: Any,
        inputs: Mapping[str, Any] | None = None,
        output: Any = None,
        start_time: _dt.datetime = MIN_ST,
        **kwargs: Any,
    ) -> None:
        graph = _entry(graph)
        self.name: str = getattr(graph, "__name__", "graph")
        self._sources = {key: _entry(source) for key, source in (inputs or {}).items()}
        self._tell = _entry(output)
        self._epoch: int = _k.to_ns(start_time)
        self._start_time = start_time
        self._global = GlobalState()
        self._senders: dict[str, Any] = {}
        self._pushed: set[str] = set()
        self._together: set[str] = set()  # the push sources that take all that waits in one cycle
        self._scene: Any = None
        self._registration: Any = None
        self.description = self._wire(graph, args, kwargs)
        self._running: RunningGraph | None = None
        # Of a graph that was stopped: its state if it had run, and what its nodes shared.
        self._kept: tuple[Any, dict[str, Any]] | None = None
        self._forget()

    def _forget(self) -> None:
        self._messages: list[tuple[str, Any]] = []
        self._step = -1
        self._asked = -1
        self.value: Any = None
        self.delta: Any = None
        self.ticked_at: int | None = None

    # -- wiring ----------------------------------------------------------------------------

    def _wire(self, graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GraphDescription:
        context = Context(self.name)
        with in_force(self._global), wiring(context):
            signature = getattr(graph, "signature", None)
            types = {p.name: p.type for p in signature.open} if signature is not None else {}
            ports = {}
            for key in self._sources:
                if key not in types:
                    raise GraphError(
                        f"graph {self.name!r} has no input {key!r}", hint=nearest(key, types)
                    )
                node = WiringNode(key, PUSH, "source", types[key])
                ports[key] = WiringPort(node, (), types[key])
            out = graph(*args, **ports, **kwargs)
            if out is not None:
                WiringNode(
                    "output",
                    "python",
                    "sink",
                    None,
                    [_WiringInput("ts", plain(out), True, 1)],
                    plan=_plan(self._note, [("input", 0)]),
                )
            fed = {id(port.node_) for port in ports.values()}
            for node in context.nodes:
                if id(node) in fed:
                    node.plan = _plan(_Take(self, f"input {node.name}"), [("sender", None)])
        described = describe(context, None)
        sinks = [
            n.id for n in described.nodes if n.plan and n.plan.get("eval", (0,))[0] == self._note
        ]
        self._output = sinks[0] if sinks else None
        return replace(described, nodes=tuple(self._place(node) for node in described.nodes))

    def _place(self, node: NodeDescription) -> NodeDescription:
        """Push sources get their messages from the inbox."""
        if node.code != PUSH or node.plan is None:
            return node
        function, args, keywords = node.plan["eval"]
        if isinstance(function, _Take):
            return node
        path = f"{node.label or node.name}[{node.id}]"
        if node.plan.get("burst") or node.plan.get("conflate"):
            self._together.add(path)
        plan = {**node.plan, "eval": (_Feed(self, path, function), args, keywords)}
        return replace(node, plan=MappingProxyType(plan))

    def _note(self, view: Any) -> None:
        self.value, self.delta = view.value, view.delta_value
        self.ticked_at = None if self._running is None else self._running.kernel.now - self._epoch
        if self._tell is not None:
            self._tell(self.delta)

    @property
    def modified(self) -> bool:
        """Whether what the graph returns ticked at this very time."""
        return self._scene is not None and self.ticked_at == self._scene.time.now

    # -- the scene's side --------------------------------------------------------------------

    def attach(self, scene: Any) -> None:
        """Joins a scene."""
        self._scene = scene
        self._registration = next(
            r
            for r in reversed(scene.time.registrations)
            if getattr(r.callback, "__self__", None) is self
        )
        parts = _graphs.setdefault(scene.inbox, {})
        parts[self.name] = self
        if PUSH not in scene.inbox.kinds:
            scene.inbox.route(PUSH, _Router(parts))

    def start(self) -> None:
        """Starts the graph, or a stopped one where it was."""
        if self._running is None:
            kept, self._kept = self._kept, None
            self._begin(kept)

    def stop(self) -> None:
        """Stops every node."""
        running, self._running = self._running, None
        if running is not None:
            self._kept = running.save(), self._shared()
            with in_force(self._global):
                running.stop()
            running.dispose()

    def _begin(self, kept: tuple[Any, dict[str, Any]] | None) -> None:
        config = GraphConfiguration(
            run_mode=EvaluationMode.SIMULATION, start_time=self._start_time, end_time=MAX_ET
        )
        self._running = RunningGraph(self.description, config)
        state, shared = kept or (None, self._shared())
        self._share(shared)
        with in_force(self._global):
            self._running.start()
            if state is not None:
                self._running.restore(state)
                self._share(shared)  # what starting put there is not what was

    def _shared(self) -> dict[str, Any]:
        return dict(self._global.items())

    def _share(self, values: dict[str, Any]) -> None:
        for name in list(self._global):
            del self._global[name]
        for name, value in values.items():
            self._global[name] = value

    @property
    def running(self) -> RunningGraph:
        """The graph as it runs, for an `Inspector` or for observers."""
        if self._running is None:
            raise GraphError(f"graph {self.name!r} is not running", hint="start the scene")
        return self._running

    def push(self, node: str, message: Any) -> int:
        """Sends a push source a message through the scene's inbox, from any thread."""
        payload = {"graph": self.name, "node": node, "message": message}
        return int(self._scene.inbox.put(PUSH, payload, source=self.name))

    def _receive(self, node: str, message: Any) -> None:
        if node not in self._senders:
            raise GraphError(
                f"graph {self.name!r} has no push source {node!r}",
                hint=nearest(node, self._senders),
            )
        self._messages.append((node, message))
        time = self._scene.time
        try:
            time.request_wakeup(time.now, self._registration)
        except ClockError:
            time.request_wakeup(time.now + 1, self._registration)

    def step(self, context: StepContext) -> None:
        """One step of its runner, or a wake-up."""
        running = self._running
        if running is None:
            return
        fed: list[tuple[str, Any]] = []
        if context.step != self._step:
            self._step = context.step
            for key, source in self._sources.items():
                if (place := f"input {key}") not in self._senders:
                    continue  # nothing in the graph reads it
                value = _sample(source, context)
                if value is not None:
                    fed.append((place, value))
        fed += self._due_messages()
        next_ns = running.next_wakeup_ns()
        now = context.time
        if fed or (next_ns is not None and next_ns <= self._epoch + now):
            self._cycle(running, now, fed)
        self._ask(running, now)

    def _due_messages(self) -> list[tuple[str, Any]]:
        """The first message of each source, or all that wait where it takes them together."""
        due: list[tuple[str, Any]] = []
        later: list[tuple[str, Any]] = []
        seen: set[str] = set()
        for node, message in self._messages:
            (later if node in seen and node not in self._together else due).append((node, message))
            seen.add(node)
        self._messages = later
        return due

    def _cycle(self, running: RunningGraph, now: int, fed: list[tuple[str, Any]]) -> None:
        for place, value in fed:
            if self._senders[place](value) is False:
                raise GraphError(f"{place} of graph {self.name!r} cannot take another message")
        with in_force(self._global):
            running.evaluate(self._epoch + now)

    def _ask(self, running: RunningGraph, now: int) -> None:
        """What the graph wants next becomes a wake-up of the one timeline."""
        wanted = running.next_wakeup_ns()
        if self._messages:  # the rest of them in the next cycle
            next_ns = self._epoch + now + _TICK_NS
            wanted = next_ns if wanted is None else min(wanted, next_ns)
        if wanted is None:
            return
        at = max(wanted - self._epoch, now + 1)
        if at >= 2**62 or now < self._asked <= at:
            return
        self._asked = at
        self._scene.time.request_wakeup(at, self._registration)

    # -- state -------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Values, schedules, what nodes keep and share, nested graphs, messages that wait."""
        state, shared = self._kept or (None, self._shared())
        if self._running is not None:
            state, shared = self._running.save(), self._shared()
        saved = None
        if state is not None:
            now, start, nodes = state
            # By name, so that an error says which node keeps what cannot be encoded.
            names = (f"{node.id} {node.label or node.name}" for node in self.description.nodes)
            saved = {"now": now, "start": start, "nodes": dict(zip(names, nodes, strict=True))}
        return {
            "graph": saved,
            "shared": shared,
            "messages": [[node, message] for node, message in self._messages],
            "step": self._step,
            "asked": self._asked,
            "ticked_at": self.ticked_at,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Leaves the graph as it was."""
        started = self._running is not None
        self.stop()
        self._forget()
        self._messages = [(node, message) for node, message in state["messages"]]
        self._step, self._asked = state["step"], state["asked"]
        saved = state["graph"]
        kept = saved and (saved["now"], saved["start"], list(saved["nodes"].values()))
        self._kept = kept, state.get("shared", {})
        if not started:
            return
        self.start()
        self.ticked_at = state["ticked_at"]
        if self._output is not None and self._running is not None:
            root: Any = self._running.kernel.root
            view = root.nodes[self._output].input_views[0]
            self.value = view.value if view.valid else None

    def __repr__(self) -> str:
        return f"GraphSubsystem({self.name!r}, {len(self.description.nodes)} nodes)"


# The graphs of each scene, by its inbox.
_graphs: weakref.WeakKeyDictionary[Any, dict[str, GraphSubsystem]] = weakref.WeakKeyDictionary()


class _Router:
    """Hands inputs of the kind "push" to the graph they are for."""

    def __init__(self, parts: dict[str, GraphSubsystem]) -> None:
        self.parts = parts

    def __call__(self, given: Input) -> None:
        payload = given.payload
        part = self.parts.get(payload["graph"])
        if part is None:
            raise GraphError(
                f"there is no graph {payload['graph']!r}",
                hint=nearest(payload["graph"], self.parts),
            )
        part._receive(payload["node"], payload["message"])


class _Take:
    """Keeps the sender of a source that the scene feeds."""

    def __init__(self, part: GraphSubsystem, place: str) -> None:
        self.part, self.place = part, place

    def __call__(self, sender: Any) -> None:
        self.part._senders[self.place] = sender


class _Feed:
    """Gives the function of a push source a sender that goes through the inbox."""

    def __init__(self, part: GraphSubsystem, place: str, function: Callable[..., Any]) -> None:
        self.part, self.place, self.function = part, place, function

    def __call__(self, sender: Any, *args: Any, **kwargs: Any) -> None:
        self.part._senders[self.place] = sender
        if self.place not in self.part._pushed:  # what runs in other threads goes on
            self.part._pushed.add(self.place)
            self.function(lambda m: self.part.push(self.place, m) > 0, *args, **kwargs)


def _plan(function: Callable[..., Any], args: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"eval": (function, args, ()), "start": None, "stop": None, "scheduler": False}


def _entry(target: Any) -> Any:
    """What a scene file names as `module:name`; anything else as it is."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise GraphError(f"{target!r} cannot be found: {error}", hint="write module:name") from None
    return found


def _sample(source: Callable[..., Any], context: StepContext) -> Any:
    try:
        bound = getattr(source, "__self__", None) is not None
        wants = source.__code__.co_argcount - len(source.__defaults__ or ()) - bound
    except AttributeError:
        wants = 0
    value = source(context) if wants else source()
    # A column of the world changes in place; the graph keeps what was there at the step.
    return value.copy() if isinstance(value, np.ndarray) else value
