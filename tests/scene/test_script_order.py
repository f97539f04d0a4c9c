"""What a script's state looks like after a restore: the same, down to the order of attributes."""

from __future__ import annotations

from mainspring.scene import Scene, Script


class Two(Script):
    """Two attributes, one of which comes and goes."""

    def __init__(self) -> None:
        self.first = 1
        self.second = 2


def test_restored_attributes_come_back_in_their_order() -> None:
    """The order of a mapping is state: an attribute that was lost returns to its old place."""
    scene = Scene()
    script = scene.add(Two())
    scene.start()
    saved, hashed = scene.save(), scene.hash()
    del script.first
    script.third = 3  # type: ignore[attr-defined]
    scene.restore(saved)
    assert (scene.save(), scene.hash()) == (saved, hashed)
