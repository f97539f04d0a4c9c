"""Write the table of operators, ``docs/reference/operators.md``, from the code.

    python tools/operator_table.py [--check]

``--check`` writes nothing and exits non-zero when the page is not what the code says.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "operators.md"
DIFFERENCES = ROOT / "tests" / "graph" / "programs" / "differences.json"

HEAD = """# Operators

The names are those of hgraph 0.8; what is marked *to come* has its place kept. Python's symbols on ports wire
the operator of the same meaning. This page is written by `tools/operator_table.py`.
"""


def page() -> str:
    """Return the page as it should be."""
    import mainspring.graph as public
    from mainspring.graph.operators._catalogue import rows

    lines = [HEAD]
    group = ""
    found = rows(public)
    for subject, name, exists, text in found:
        if subject != group:
            group = subject
            lines += [f"\n## {group}\n", "| name | | what it does |", "| --- | --- | --- |"]
        escaped = text.replace("|", "\\|")
        lines.append(
            f"| `{name}` | {'yes' if exists else '*to come*'} | {escaped if exists else ''} |"
        )
    there = sum(1 for row in found if row[2])
    lines.append(f"\n{there} of {len(found)} names are there.")
    lines += [
        "\n## Where hgraph differs\n",
        "The programs in `tests/graph/programs` give the ticks that hgraph 0.8 gives, but for these:\n",
    ]
    cases: dict[str, list[str]] = {}
    for case, difference in json.loads(DIFFERENCES.read_text()).items():
        cases.setdefault(difference["because"], []).append(f"`{case}`")
    lines += [f"- {reason} ({', '.join(named)})" for reason, named in cases.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != wanted:
            print(f"{PAGE} is not what the code says; run python tools/operator_table.py")
            return 1
        return 0
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
