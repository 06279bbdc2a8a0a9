"""Click models that are fitted to a log, each in one file."""

from toplist.logs.models.baselines import GlobalRate, ItemPositionRate, ItemRate, PositionRate
from toplist.logs.models.cascade import CascadeModel
from toplist.logs.models.ccm import CCMModel
from toplist.logs.models.dbn import DBNModel
from toplist.logs.models.dcm import DCMModel
from toplist.logs.models.pbm import PBMModel
from toplist.logs.models.protocol import ClickModel
from toplist.logs.models.sdbn import SimplifiedDBNModel
from toplist.logs.models.ubm import UBMModel

_ALL: tuple[ClickModel, ...] = (
    GlobalRate(),
    PositionRate(),
    ItemRate(),
    ItemPositionRate(),
    CascadeModel(),
    DCMModel(exact=False),
    DCMModel(),
    SimplifiedDBNModel(exact=False),
    SimplifiedDBNModel(),
    DBNModel(),
    PBMModel(),
    UBMModel(),
    CCMModel(),
)
MODELS = {model.name: model for model in _ALL}

__all__ = [
    "MODELS",
    "CCMModel",
    "CascadeModel",
    "ClickModel",
    "DBNModel",
    "DCMModel",
    "GlobalRate",
    "ItemPositionRate",
    "ItemRate",
    "PBMModel",
    "PositionRate",
    "SimplifiedDBNModel",
    "UBMModel",
]
