"""Click logs: readers, and the type of a log."""

from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import IdTable
from toplist.logs.read import LogScan, read_log, scan_log
from toplist.logs.report import Place, ReadReport, Skipped

__all__ = ["ClickLog", "IdTable", "LogScan", "Place", "ReadReport", "Skipped", "read_log", "scan_log"]
