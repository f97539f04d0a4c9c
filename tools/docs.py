"""Writes the generated pages of docs/reference, or, with --check, says which have drifted.

A generator gives (path below docs/reference, text). Layers add theirs to the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"


def scene_schema() -> str:
    """The JSON Schema of scene files."""
    from mainspring.scene import json_schema

    return json.dumps(json_schema(), indent=2) + "\n"


def scene_file() -> str:
    """The keys of a scene file, as tables."""
    from mainspring.scene import _schema as schema

    parts = ["# Keys of a scene file\n"]
    tables = {
        "[scene]": schema.SCENE,
        "[[runner]]": schema.RUNNER,
        "[bindings.CALLBACK]": schema.BINDING,
        "[[script]]": schema.SCRIPT,
        "[[subsystem]]": schema.SUBSYSTEM,
    }
    for title, keys in tables.items():
        parts.append(f"\n## `{title}`\n\n| key | allowed | |\n| --- | --- | --- |\n")
        for name, key in keys.items():
            needed = " Required." if key.required else ""
            allowed = key.allowed.replace("|", "\\|")
            parts.append(f"| `{name}` | {allowed} | {key.doc}{needed} |\n")
    return "".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "scene.schema.json": scene_schema,
    "scene-file.md": scene_file,
}


def main() -> int:
    """Writes or checks every page."""
    drifted = 0
    for name, generate in PAGES.items():
        path, text = REFERENCE / name, generate()
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"docs/reference/{name} does not match the code; run `make docs`")
            drifted = 1
    return drifted


if __name__ == "__main__":
    sys.exit(main())
