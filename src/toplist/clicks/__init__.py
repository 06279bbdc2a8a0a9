"""How a person turns attraction into clicks."""

from toplist.clicks.cascade import Cascade
from toplist.clicks.dbn import DBN
from toplist.clicks.dcm import DCM

__all__ = ["DBN", "DCM", "Cascade"]
