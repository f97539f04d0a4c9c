"""How a message names a call, so that whoever reads it finds the line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["name_of"]


def name_of(call: Callable[..., Any]) -> str:
    """The call's qualified name; of a lambda, which all have the same, its place as well."""
    if isinstance(call, functools.partial):
        return name_of(call.func)
    name = getattr(call, "__qualname__", None)
    if name is None:
        return repr(call)
    code = getattr(call, "__code__", None)
    if name.endswith("<lambda>") and code is not None:
        return f"{name} at {code.co_filename}:{code.co_firstlineno}"
    return str(name)
