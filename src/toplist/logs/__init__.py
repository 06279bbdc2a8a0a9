"""Click logs: readers, and the type of a log."""

from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import IdTable

__all__ = ["ClickLog", "IdTable"]
