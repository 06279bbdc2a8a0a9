"""Where the service keeps everything: what a store must do, and the one in a SQLite file."""

from toplist.service.store.protocol import LogReader, Store
from toplist.service.store.reader import SQLiteReader
from toplist.service.store.sqlite import SQLiteStore

__all__ = ["LogReader", "SQLiteReader", "SQLiteStore", "Store"]
