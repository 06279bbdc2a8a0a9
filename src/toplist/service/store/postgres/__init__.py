"""The store in PostgreSQL."""

from toplist.service.store.postgres.members import parts_of
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.store.postgres.session import check_address, shown_address
from toplist.service.store.postgres.store import PostgresStore
from toplist.service.store.postgres.targets import note_copied, note_divided, open_targets

__all__ = [
    "PostgresReader", "PostgresStore", "check_address", "note_copied", "note_divided", "open_targets",
    "parts_of", "shown_address",
]  # fmt: skip
