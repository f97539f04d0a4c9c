"""Scenes: scripts, subsystems and settings on one time manager.

Begin with `Scene`.
"""

from mainspring.scene._random import RandomStreams
from mainspring.scene._scene import Scene
from mainspring.scene._script import LIFECYCLE, Binding, Bindings, Script
from mainspring.scene._subsystem import Subsystem
from mainspring.scene.errors import EntryError, Fault, SceneError, SceneWarning, SettingsError

__all__ = [
    "LIFECYCLE",
    "Binding",
    "Bindings",
    "EntryError",
    "Fault",
    "RandomStreams",
    "Scene",
    "SceneError",
    "SceneWarning",
    "Script",
    "SettingsError",
    "Subsystem",
]
