"""`feedback`: an output that is read one cycle after it was written."""

from __future__ import annotations

from typing import Any

from mainspring.graph._errors import IncorrectTypeBinding, WiringError
from mainspring.graph._match import MatchError, match
from mainspring.graph._signature import is_port
from mainspring.graph._types import type_name
from mainspring.graph._wiring import Input, WiringNode, WiringPort, const_of, current, plain


class _Feedback:
    """`f()` is the port; `f(port)` binds what comes back in the next cycle."""

    def __init__(self, tp: Any, default: Any) -> None:
        params = () if default is None else (_Initial(default),)
        self._type = tp
        self._node = WiringNode(
            "feedback",
            "feedback_source",
            "source",
            tp,
            params=tuple(p.value for p in params),
            scalars={"default": default},
        )
        self._bound = False

    def __call__(self, port: Any = None) -> Any:
        if port is None:
            return WiringPort(self._node, (), self._type)
        if self._bound:
            raise WiringError("this feedback is bound already")
        if not is_port(port):
            port = const_of(port, self._type)
        try:
            match(self._type, port.type_, {})
        except MatchError as problem:
            raise IncorrectTypeBinding(
                f"the feedback is of {type_name(self._type)}, it cannot take {port!r}: {problem}"
            ) from None
        self._bound = True
        if current() is not self._node.context:
            raise WiringError("a feedback must be bound in the graph it was made in")
        sink = WiringNode(
            "feedback_sink",
            "feedback_sink",
            "sink",
            None,
            [Input("ts", plain(port), True, 1)],
            params=(self._node,),
        )
        sink.strong.append(self._node)
        self._node.strong.append(sink)
        return None

    def __repr__(self) -> str:
        return f"<feedback of {type_name(self._type)}>"


class _Initial:
    def __init__(self, value: Any) -> None:
        self.value = value


class _FeedbackMaker:
    __name__ = "feedback"

    def __call__(self, tp_or_wp: Any, default: Any = None) -> Any:
        if is_port(tp_or_wp):
            made = _Feedback(tp_or_wp.type_.dereference(), default)
            made(tp_or_wp)
            return made
        return _Feedback(tp_or_wp, default)

    def __getitem__(self, tp: Any) -> Any:
        return lambda default=None: _Feedback(tp, default)


feedback = _FeedbackMaker()


__all__ = [
    "feedback",
]
