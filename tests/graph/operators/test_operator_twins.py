"""The order of sets and dictionaries does not depend on hashes."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from mainspring.graph import TS, TSD, TSS, REMOVE, Removed, combine, convert, eval_node, flip, graph, merge, union, values_

@graph
def sets(a: TSS[str], b: TSS[str]) -> TS[tuple[str, ...]]:
    return convert[TS[tuple[str, ...]]](union(a, b))

@graph
def dicts(a: TSD[str, TS[str]], b: TSD[str, TS[str]]) -> TSD[str, TS[str]]:
    return flip(merge(a, b))

@graph
def values(a: TSD[str, TS[str]]) -> TSS[str]:
    return values_(a)

letters = [chr(97 + i) * 3 for i in range(20)]
print(eval_node(sets, [set(letters[:1]), set(letters[1:2]), {Removed(letters[0])}], [{letters[5]}, {letters[7]}]))
print([list(t) for t in eval_node(dicts, [{k: k + "x" for k in letters}, {letters[3]: REMOVE}], [{k: k + "y" for k in letters[::-1]}])])
print([list(t) for t in eval_node(values, [{k: k + "x" for k in letters}])])
"""


def test_the_same_output_under_other_hash_seeds() -> None:
    """Three processes with three hash seeds print the same, to the letter."""
    printed = []
    for seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        printed.append(done.stdout)
    assert printed[0]
    assert len(set(printed)) == 1, "\n".join(printed)
