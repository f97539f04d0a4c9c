"""Older names of operators, which hgraph keeps as well."""

from typing import Any

from mainspring.graph.operators._names import dedup, mean, sum_


def drop_dups(ts: Any) -> Any:
    """Wire `dedup`."""
    return dedup(ts)


def average(*ts: Any) -> Any:
    """Wire `mean`."""
    return mean(*ts)


def accumulate(*ts: Any, **kwargs: Any) -> Any:
    """Wire `sum_`."""
    return sum_(*ts, **kwargs)
