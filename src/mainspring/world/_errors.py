"""What can go wrong in a world.

WorldError
├── EntityError            an id or a handle that stands for no living entity
├── ComponentError         a component declared, written or read wrongly
│   └── MissingComponentError  an entity that does not have the component asked for
├── CapacityError          more entities than the world has room for
├── SpaceError             a spatial query asked wrongly
├── SkillError             a skill declared wrongly, or called where it may not be
│   └── SkillRefused       raised by a skill to refuse, with the reason for the caller
└── IntentError            an intent that cannot be submitted or waited for
"""

from __future__ import annotations

from mainspring.errors import MainspringError

__all__ = [
    "CapacityError",
    "ComponentError",
    "EntityError",
    "IntentError",
    "MissingComponentError",
    "SkillError",
    "SkillRefused",
    "SpaceError",
    "WorldError",
]


class WorldError(MainspringError):
    """The root of what a world raises."""


class EntityError(WorldError, LookupError):
    """An id or a handle that stands for no living entity."""


class ComponentError(WorldError):
    """A component declared, written or read wrongly."""


class MissingComponentError(ComponentError, AttributeError, LookupError):
    """An entity that does not have the component asked for."""


class CapacityError(WorldError):
    """More entities than the world has room for."""


class SpaceError(WorldError, ValueError):
    """A spatial query asked wrongly."""


class SkillError(WorldError):
    """A skill declared wrongly, or called where it may not be."""


class SkillRefused(SkillError):
    """Raised inside a skill to refuse: the message is the reason its caller is given."""


class IntentError(WorldError):
    """An intent that cannot be submitted or waited for."""
