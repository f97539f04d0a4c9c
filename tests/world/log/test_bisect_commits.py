"""`bisect --good`: the commit that changed a run, found by replaying it in worktrees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.world import LogError, bisect_commits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

PLANT = """
from mainspring.scene import Scene, Script


class Plant(Script):
    def __init__(self):
        self.level = 1.0

    def on_update(self, ts):
        self.level += {gain} * ts  # {note}


def build():
    scene = Scene("plant")
    scene.add(Plant(), name="plant")
    return scene
"""


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.mark.slow
def test_the_first_commit_that_changes_the_run(tmp_path: Path) -> None:
    """Five commits, the fourth changes a constant; the others only a comment."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    commits = []
    for number, gain in enumerate((0.5, 0.5, 0.5, 0.75, 0.75)):
        (repository / "plant.py").write_text(PLANT.format(gain=gain, note=number))
        git(repository, "add", "plant.py")
        git(repository, "commit", "-q", "-m", f"change {number}")
        commits.append(git(repository, "rev-parse", "HEAD"))
    git(repository, "checkout", "-q", commits[0])
    log = tmp_path / "run.world"
    code = (
        "import plant\nfrom mainspring.world import record\nscene = plant.build()\n"
        f"with record(scene, {str(log)!r}, hash_every=0.1, entry='plant:build'):\n"
        "    scene.advance(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=repository, check=True)
    said: list[str] = []
    report = bisect_commits(
        log, commits[0], commits[-1], repository=repository, progress=said.append
    )
    assert report.commit == commits[3]
    assert report.subject == "change 3"
    assert report.replayed == len(said) <= 5
    assert git(repository, "worktree", "list").count("\n") == 0  # and nothing is left behind
    with pytest.raises(LogError, match="still the same"):
        bisect_commits(log, commits[0], commits[2], repository=repository)
    with pytest.raises(LogError, match="does not come after"):
        bisect_commits(log, commits[2], commits[0], repository=repository)
