"""Projects on disk, and the long work around them as jobs.

A project's folder, its archives and templates, its assets and their registry, content vaults,
reports on their way out, and the reload of scripts and settings while a scene runs.
"""

from mainspring.project._archive import Selection
from mainspring.project._archive_checks import ArchiveLimits
from mainspring.project._asset_reload import AssetReloader, ReadAssetsJob
from mainspring.project._assets import Asset, AssetRegistry, ImportAssetsJob
from mainspring.project._files import sweep, write_atomically
from mainspring.project._guard import HeavyOpGuard
from mainspring.project._hot_reload import HotReload
from mainspring.project._jobs import (
    CreateProjectFromTemplateJob,
    ExportProjectJob,
    ImportProjectJob,
    SaveProjectAsJob,
)
from mainspring.project._outbox import Delivery, Outbox, Retry, StreamReportsJob
from mainspring.project._project import Identity, Project
from mainspring.project._reload import Reload, ScriptReloader
from mainspring.project._settings_reload import SettingsReload, SettingsReloader
from mainspring.project._templates import TEMPLATES
from mainspring.project._vault import Package, Vault, VaultGetJob, VaultListJob, VaultPutJob
from mainspring.project.errors import (
    ArchiveError,
    AssetError,
    OutboxError,
    ProjectError,
    ProjectSettingsError,
    RegistryError,
    ReloadError,
    VaultBusyError,
    VaultError,
)

__all__ = [
    "TEMPLATES",
    "ArchiveError",
    "ArchiveLimits",
    "Asset",
    "AssetError",
    "AssetRegistry",
    "AssetReloader",
    "CreateProjectFromTemplateJob",
    "Delivery",
    "ExportProjectJob",
    "HeavyOpGuard",
    "HotReload",
    "Identity",
    "ImportAssetsJob",
    "ImportProjectJob",
    "Outbox",
    "OutboxError",
    "Package",
    "Project",
    "ProjectError",
    "ProjectSettingsError",
    "ReadAssetsJob",
    "RegistryError",
    "Reload",
    "ReloadError",
    "Retry",
    "SaveProjectAsJob",
    "ScriptReloader",
    "Selection",
    "SettingsReload",
    "SettingsReloader",
    "StreamReportsJob",
    "Vault",
    "VaultBusyError",
    "VaultError",
    "VaultGetJob",
    "VaultListJob",
    "VaultPutJob",
    "sweep",
    "write_atomically",
]
