"""Write the golden log of the present format, once: `python tests/golden/write.py`.

It refuses to replace one that is there. Old logs stay; a new format gets a new folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import plant  # noqa: E402

from mainspring.world import open_run, record, verify  # noqa: E402
from mainspring.world.log._format import FORMAT_VERSION  # noqa: E402


def main() -> None:
    folder = HERE / f"v{FORMAT_VERSION}"
    folder.mkdir(exist_ok=True)
    log = folder / "run.world"
    scene = plant.build()
    with record(scene, log, hash_every=0.1, snapshot_every=0.5, page_size=1024) as recorder:
        plant.drive(scene)
        recorder.flush()
    report = verify(log)
    with open_run(log, build=plant.build) as run:
        states = {t: run.at(t).hash().hex() for t in ("0s", "0.7s", "1s", "1.99s")}
    told = {
        "records": report.records,
        "inputs": report.inputs,
        "hashes": report.hashes,
        "states": states,
    }
    (folder / "run.json").write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
