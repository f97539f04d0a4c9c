"""Scenes: scripts, subsystems and settings on one time manager.

Begin with `Scene`.
"""

from mainspring.scene._entry import import_entry, open_scene
from mainspring.scene._random import RandomStreams
from mainspring.scene._scene import Scene
from mainspring.scene._schema import json_schema
from mainspring.scene._script import LIFECYCLE, Binding, Bindings, Script
from mainspring.scene._settings import SceneSettings, load_scene, read_settings, write_settings
from mainspring.scene._subsystem import Subsystem
from mainspring.scene.errors import (
    EntryError,
    Fault,
    LifeCycleError,
    SceneError,
    SceneWarning,
    SettingsError,
)

__all__ = [
    "LIFECYCLE",
    "Binding",
    "Bindings",
    "EntryError",
    "Fault",
    "LifeCycleError",
    "RandomStreams",
    "Scene",
    "SceneError",
    "SceneSettings",
    "SceneWarning",
    "Script",
    "SettingsError",
    "Subsystem",
    "import_entry",
    "json_schema",
    "load_scene",
    "open_scene",
    "read_settings",
    "write_settings",
]
