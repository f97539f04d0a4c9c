"""Compare the graph with csp and hgraph: a table of medians, spreads and ratios from one run.

    python -m benchmarks graph
    python -m benchmarks.graph.run [--repeats 7] [--quick] [scenario ...]

Every number is the median of fresh processes; the libraries take turns, so a slow minute of the machine
falls on all of them. The spread is half the distance of the quartiles over the median. A ratio is
mainspring's time over the peer's, with the limit it is held to. Exits non-zero when a limit is exceeded.
The interpreters are those of ``benchmarks/environments.py``; the table is also kept as
``build/bench/graph.md`` and its numbers as ``build/bench/graph.json``.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks import environments

HERE = Path(__file__).resolve().parent

LIBRARIES = {"mainspring": "mainspring.graph", "hgraph": "hgraph", "csp": "csp"}

# scenario -> (what a number is, peer, most that mainspring may take of the peer's time)
AGAINST_PEERS = {
    "python_chain_100": ("ns a Python node", "csp", 0.75),
    "native_chain_100": ("ns an addition", "csp", 0.5),
    "generator_and_sink": ("ns a tick", "csp", 1.0),
    "python_chain_5": ("ns a cycle of 5", "hgraph", 0.7),
    "feedback_loop": ("ns a turn", "hgraph", 0.7),
    "fan_out_1000": ("ns a reader", "hgraph", 0.7),
    "fan_in_1000": ("ns an input", "hgraph", 0.7),
    "map_dense_1000": ("ns a key", "hgraph", 0.7),
    "map_sparse_1000": ("ns a key", "hgraph", 0.7),
    "reduce_dense_1000": ("ns a key", "hgraph", 0.7),
    "reduce_sparse_1000": ("ns a key", "hgraph", 0.7),
    "key_churn": ("ns a key out and in", "hgraph", 0.7),
    "switch_small": ("ns a switch", "hgraph", 0.7),
    "switch_large": ("ns a switch", "hgraph", 0.7),
    "wire_and_start_10000": ("ns a node", "hgraph", 0.7),
}

# scenario -> (what a number is, most it may be)
LIMITS = {
    "memory_native_node": ("bytes a node", 200.0),
    "memory_python_node": ("bytes a node", 600.0),
    "memory_growth": ("bytes a cycle", 0.05),
}

# Large scenarios: a chain beside a longer one that is quiet, and one of many that stand side by side. The small
# one, and the most that a large one may take of its time.
LARGE = ("ten_of_100000", "ten_in_10000_chains")
SMALL = "ten_of_10"
LARGE_OF_SMALL = 1.3


def measure(library: str, scenario: str) -> float:
    """Run one scenario in a fresh process of the library's environment."""
    python = str(environments.interpreter(library))
    if library == "csp":
        command = [python, str(HERE / "csp_scenarios.py"), scenario]
    else:
        command = [python, str(HERE / "scenarios.py"), LIBRARIES[library], scenario]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{library} {scenario} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def collect(pairs: list[tuple[str, str]], repeats: int) -> dict[tuple[str, str], list[float]]:
    """Measure every (library, scenario) pair ``repeats`` times, taking turns."""
    measured: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    for turn in range(repeats):
        for pair in pairs:
            measured[pair].append(measure(*pair))
        print(f"turn {turn + 1} of {repeats}", file=sys.stderr)
    return measured


def spread(values: list[float]) -> float:
    """Return half the distance of the quartiles over the median, in percent."""
    if len(values) < 3:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return 50.0 * (high - low) / abs(middle) if middle else 0.0


def report(measured: dict[tuple[str, str], list[float]], scenarios: list[str]) -> tuple[str, bool]:
    """Return the table and whether every limit holds."""

    def cell(library: str, scenario: str) -> str:
        values = measured.get((library, scenario))
        if values is None:
            return ""
        return f"{statistics.median(values):,.4g} ±{spread(values):.0f}%"

    def middle(library: str, scenario: str) -> float:
        return statistics.median(measured[library, scenario])

    good = True
    rows = [
        "| scenario | unit | mainspring | hgraph | csp | ratio | limit | holds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for scenario in scenarios:
        if scenario in AGAINST_PEERS:
            unit, peer, limit = AGAINST_PEERS[scenario]
            ratio = middle("mainspring", scenario) / middle(peer, scenario)
            shown = f"{ratio:.2f} of {peer}"
        elif scenario in LIMITS:
            unit, limit = LIMITS[scenario]
            ratio, shown = middle("mainspring", scenario), ""
        elif scenario in LARGE:
            unit, limit = "ns a cycle", LARGE_OF_SMALL
            ratio = middle("mainspring", scenario) / middle("mainspring", SMALL)
            shown = f"{ratio:.2f} of {SMALL}"
        else:
            unit, limit, ratio, shown = "ns a cycle", float("inf"), 0.0, ""
        good = good and ratio <= limit
        cells = " | ".join(cell(library, scenario) for library in ("mainspring", "hgraph", "csp"))
        bound = "" if limit == float("inf") else f"{limit:g}"
        rows.append(
            f"| {scenario} | {unit} | {cells} | {shown} | {bound} | {'yes' if ratio <= limit else '**no**'} |"
        )
    return "\n".join(rows), good


def main(arguments_given: list[str] | None = None) -> int:
    """Measure, print the table, keep it; return non-zero when a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--quick", action="store_true", help="three repeats and no memory scenarios"
    )
    parser.add_argument("scenarios", nargs="*")
    arguments = parser.parse_args(arguments_given or [])
    repeats = 3 if arguments.quick else arguments.repeats
    known = [*AGAINST_PEERS, SMALL, *LARGE, *([] if arguments.quick else LIMITS)]
    scenarios = arguments.scenarios or known
    python = environments.find_python("3.12")
    pairs: list[tuple[str, str]] = []
    for scenario in scenarios:
        pairs.append(("mainspring", scenario))
        pairs.append(("hgraph", scenario))
        if scenario in AGAINST_PEERS and AGAINST_PEERS[scenario][1] == "csp":
            pairs.append(("csp", scenario))
    for library in dict.fromkeys(library for library, _ in pairs):
        environments.make(library, python)
    measured = collect(pairs, repeats)
    table, good = report(measured, scenarios)
    version = subprocess.run(
        [str(environments.interpreter("mainspring")), "-V"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    heading = f"{version}, {platform.machine()}, medians of {repeats} fresh processes, ± half the quartile distance"
    text = f"{heading}\n\n{table}\n"
    print(text)
    (environments.HOME / "graph.md").write_text(text)
    (environments.HOME / "graph.json").write_text(
        json.dumps(
            {f"{scenario}/{library}": values for (library, scenario), values in measured.items()},
            indent=1,
        )
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
