"""Click models: how a user turns attraction into clicks."""

from toplist.clicks.cascade import Cascade
from toplist.clicks.ccm import CCM
from toplist.clicks.dbn import DBN
from toplist.clicks.dcm import DCM, ChangingDCM
from toplist.clicks.mixture import Mixture, mix
from toplist.clicks.pbm import PBM
from toplist.clicks.ubm import UBM

__all__ = ["CCM", "DBN", "DCM", "PBM", "UBM", "Cascade", "ChangingDCM", "Mixture", "mix"]
