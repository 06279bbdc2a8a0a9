"""Where the service keeps everything: what a store must do, and the one that needs no set-up."""

from toplist.service.store.protocol import Store
from toplist.service.store.sqlite import SQLiteStore

__all__ = ["SQLiteStore", "Store"]
