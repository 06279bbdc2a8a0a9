"""How a person turns attraction into clicks."""

from toplist.clicks.cascade import Cascade
from toplist.clicks.dbn import DBN
from toplist.clicks.dcm import DCM, ChangingDCM
from toplist.clicks.pbm import PBM

__all__ = ["DBN", "DCM", "PBM", "Cascade", "ChangingDCM"]
