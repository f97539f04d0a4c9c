"""Write down what a library makes of the corpus of shared programs.

    python tools/record_programs.py [--library hgraph] [--check] [program ...]

Run it with an interpreter whose environment has the library (hgraph 0.8 and hgraph-analytics need Python 3.12
or later). Each case runs in a forked process of its own: the oracle keeps state between runs, and a crash in
one case must not cost the others. The records are ``tests/graph/programs/record/<program>.json``; ``--check``
compares instead of writing and exits non-zero on a difference.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import warnings
from pathlib import Path

PROGRAMS = Path(__file__).parent.parent / "tests" / "graph" / "programs"
TIMEOUT_S = 20


def run_case(thunk: object, outcome: object) -> str:
    """Run one case in a fork and return its outcome as text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        signal.alarm(TIMEOUT_S)
        text = outcome(thunk)  # type: ignore[operator]
        with os.fdopen(writer, "w") as stream:
            stream.write(text)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"error: process ended with status {status}"


def main() -> int:
    """Record or check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="hgraph")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, str(PROGRAMS))
    import _corpus

    differences = 0
    total = 0
    for name in arguments.programs or _corpus.program_names():
        module = _corpus.load(name, arguments.library)
        record = {case: run_case(thunk, _corpus.outcome) for case, thunk in _corpus.cases(module)}
        total += len(record)
        path = PROGRAMS / "record" / f"{name}.json"
        if arguments.check:
            kept = json.loads(path.read_text())
            for case in sorted(kept.keys() | record.keys()):
                if kept.get(case) != record.get(case):
                    differences += 1
                    print(
                        f"{name}::{case}\n  record: {kept.get(case)}\n  now:    {record.get(case)}"
                    )
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"{total} cases, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
