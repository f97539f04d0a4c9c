"""The world: entities, space, skills; its log, snapshots, replay and diff.

Begin with `World`.
"""

from mainspring.world._approvals import ApprovalRequest, Approvals
from mainspring.world._entity import Entity
from mainspring.world._errors import (
    CapacityError,
    ComponentError,
    EntityError,
    IntentError,
    MissingComponentError,
    SkillError,
    SkillRefused,
    SpaceError,
    WorldError,
)
from mainspring.world._intents import Ticket
from mainspring.world._query import Entities
from mainspring.world._skills import Outcome, Skill, SkillContext, Skills
from mainspring.world._space import Neighbors, SpatialIndex
from mainspring.world._table import EntityTable
from mainspring.world._world import World

__all__ = [
    "ApprovalRequest",
    "Approvals",
    "CapacityError",
    "ComponentError",
    "Entities",
    "Entity",
    "EntityError",
    "EntityTable",
    "IntentError",
    "MissingComponentError",
    "Neighbors",
    "Outcome",
    "Skill",
    "SkillContext",
    "SkillError",
    "SkillRefused",
    "Skills",
    "SpaceError",
    "SpatialIndex",
    "Ticket",
    "World",
    "WorldError",
]
