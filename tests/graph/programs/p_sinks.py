"""Sinks and side effects: what is printed, logged, asserted, called and stopped."""

import contextlib
import io
import logging
from collections.abc import Callable
from datetime import timedelta

from lib import (
    MIN_TD,
    TS,
    TSL,
    TSD,
    Size,
    apply,
    assert_,
    call,
    const,
    debug_print,
    log_,
    null_sink,
    print_,
    schedule,
    stop_engine,
    eval_node,
    graph,
    format_,
    MIN_ST,
)

I = TS[int]


def printed(function, kinds, *vectors):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        ticks(function, kinds, *vectors)
    return out.getvalue()


def case_print():
    return printed(lambda a: print_("{} {}", a, a), (I,), [1, None, 2])


def case_print_named():
    return printed(lambda a: print_("{x}", x=a), (I,), [1, None, 2])


def case_debug_print():
    text = printed(lambda a: debug_print("label", a), (I,), [1, None, 2])
    return [line[line.index("label") :] for line in text.splitlines()]


def case_debug_print_sampled():
    text = printed(lambda a: debug_print("label", a, sample=2), (I,), [1, 2, 3, 4, 5])
    return [line[line.index("label") :] for line in text.splitlines()]


def case_debug_print_delta():
    text = printed(
        lambda a: debug_print("label", a, print_delta=False), (TSL[I, Size[2]],), [(1, 2), {0: 3}]
    )
    return [line[line.index("label") :] for line in text.splitlines()]


def case_assert_holds():
    return ticks(lambda a: assert_(a, "no"), (TS[bool],), [True, True])


def case_assert_fails():
    return ticks(lambda a: assert_(a, "no"), (TS[bool],), [True, False])


def case_assert_format():
    try:
        return ticks(lambda a, b: assert_(a, "bad {}", b), (TS[bool], I), [True, False], [1, 2])
    except Exception as error:
        return "bad 2" in str(error)


def case_apply():
    return ticks(lambda f, a: apply[I](f, a), (TS[Callable], I), [lambda x: x + 1, None], [1, 5])


def case_null_sink():
    return ticks(lambda a: null_sink(a), (I,), [1])


def case_stop_engine():
    def program(a, s):
        stop_engine(s)
        return a

    return ticks(program, (I, TS[bool]), [1, 2, 3, 4], [None, True])


def case_stop_engine_message():
    def program(a, s):
        stop_engine(s, msg="enough")
        return a

    return ticks(program, (I, TS[bool]), [1, 2, 3, 4], [None, True])
