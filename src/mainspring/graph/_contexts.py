"""CONTEXT parameters: the port they take, and the values a node's function runs inside.

`with port:` publishes a port to what is wired inside, `with port as name:` and
`context(name, port)` under a name. A CONTEXT parameter takes the nearest one that fits. Where its
values are context managers, the node enters the current one around each evaluation.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, get_origin

from mainspring.graph._errors import WiringError
from mainspring.graph._match import MatchError, match
from mainspring.graph._sentinels import _Required
from mainspring.graph._types import TSBm, TSm, type_name
from mainspring.graph._wiring import Input, WiringPort, current

__all__ = ["context_named", "entering", "find_context", "published_ports"]


def find_context(parameter: str, given: Any, tp: Any) -> WiringPort | None:
    """The port of the nearest enclosing `with` that a CONTEXT parameter takes."""
    if isinstance(given, WiringPort):
        return given
    name = given if isinstance(given, str) else given.name if isinstance(given, _Required) else None
    for published, port in published_ports():
        if (name is None or published == name or _called(port, name)) and _serves(tp, port.type_):
            return port
    if isinstance(given, _Required):
        raise WiringError(
            f"no context of type {type_name(tp)}{f' with name {name}' if name else ''} is published"
            f" here for {parameter!r}",
            hint="enclose the call in `with port:` or `with port as name:`",
        )
    return None


def _serves(wanted: Any, found: Any) -> bool:
    """Is a port of type `found` what a CONTEXT of type `wanted` takes?"""
    if isinstance(wanted, TSm) and isinstance(wanted.scalar, type) and isinstance(found, TSBm):
        scalar = _scalar_class(found)
        return isinstance(scalar, type) and issubclass(scalar, wanted.scalar)
    try:
        match(wanted, found, {})
    except MatchError:
        return False
    return True


def published_ports() -> Iterator[tuple[str | None, WiringPort]]:
    """What enclosing `with` statements published, the nearest first, with names given in so many words."""
    context: Any = current()
    while context is not None:
        yield from reversed(context.published)
        context = context.parent


def context_named(name: str) -> WiringPort | None:
    """The port published under a name, by `context(name, port)` or `with port as name:`."""
    for published, port in published_ports():
        if published == name or _called(port, name):
            return port
    return None


def _called(port: WiringPort, name: str) -> bool:
    """Is the port bound to this name (`with port as name:`) where wiring came from?"""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_locals.get(name) is port:
            return True
        frame = frame.f_back
    return False


def entering(plan: tuple[Any, list[Any], tuple[str, ...]], inputs: list[Input]) -> Any:
    """A call plan whose function runs inside the values of its contexts, where they can be entered."""
    fn, args, keywords = plan
    places = [
        at
        for at, (what, content) in enumerate(args)
        if what == "input"
        and inputs[content].context
        and _can_be_entered(inputs[content].port.type_)
    ]
    if not places:
        return plan
    positional = len(args) - len(keywords)

    @functools.wraps(fn)
    def entered(*views: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for at in places:
                stack.enter_context(views[at].value)
            return fn(*views[:positional], **dict(zip(keywords, views[positional:], strict=True)))

    return entered, args, ()


def _can_be_entered(tp: Any) -> bool:
    tp = tp.dereference()
    if isinstance(tp, TSBm):
        scalar = _scalar_class(tp)
    else:
        scalar = tp.args[0] if isinstance(tp, TSm) else None
    return hasattr(scalar, "__enter__") and hasattr(scalar, "__exit__")


def _scalar_class(bundle: TSBm) -> Any:
    """The class that the values of a bundle are of; of a generic one without its arguments."""
    scalar = getattr(bundle.schema, "__compound__", bundle.schema.__scalar_type__)
    return get_origin(scalar) or scalar
