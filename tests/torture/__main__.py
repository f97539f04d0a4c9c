"""Crash the log thousands of times: `python -m tests.torture --rounds 5000 --seed 7`."""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path

import pytest


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.torture", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}: give it again with --seed to have the same rounds")
    os.environ["MAINSPRING_TORTURE_ROUNDS"] = str(options.rounds)
    os.environ["MAINSPRING_TORTURE_SEED"] = str(options.seed)
    return int(pytest.main([str(Path(__file__).parent), "-q"]))


if __name__ == "__main__":
    sys.exit(main())
