"""What goes wrong with projects, their archives, assets, vaults and reports.

ProjectError
├── ProjectSettingsError    mainspring.toml is not what it should be; says line and key
├── ArchiveError     an archive is damaged, or dangerous, or cannot be made
├── AssetError       an asset cannot be imported; says file and line
├── RegistryError    the asset registry is held by another writer, or damaged
├── VaultError       a content vault does not have it, or has it damaged
│   └── VaultBusyError   another heavy operation is under way
├── OutboxError      a report cannot be kept or delivered
└── ReloadError      changed code cannot be taken over; says file and line
"""

from __future__ import annotations

from mainspring.errors import MainspringError

__all__ = [
    "ArchiveError",
    "AssetError",
    "OutboxError",
    "ProjectError",
    "ProjectSettingsError",
    "RegistryError",
    "ReloadError",
    "VaultBusyError",
    "VaultError",
]


class ProjectError(MainspringError):
    """The root of everything this layer raises."""


class ProjectSettingsError(ProjectError):
    """A project's settings file is not what it should be."""


class ArchiveError(ProjectError):
    """An archive is damaged, or would do harm, or cannot be made."""


class AssetError(ProjectError):
    """An asset cannot be imported."""


class RegistryError(ProjectError):
    """The asset registry cannot be opened or changed."""


class VaultError(ProjectError):
    """A content vault does not have what was asked for, or has it damaged."""


class VaultBusyError(VaultError):
    """Another heavy operation is under way, and there is one at a time."""


class OutboxError(ProjectError):
    """A report cannot be kept or delivered."""


class ReloadError(ProjectError):
    """Changed code cannot take over; what ran before goes on."""
