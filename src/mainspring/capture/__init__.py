"""capture"""

from mainspring.capture._sync import SyncError, SyncPoint, SyncSnapshot

__all__ = ["SyncError", "SyncPoint", "SyncSnapshot"]
