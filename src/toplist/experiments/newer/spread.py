"""A problem whose items all differ, for several experiments."""

from __future__ import annotations

from toplist.clicks import PBM
from toplist.worlds import Fixed

SPREAD = Fixed(
    [0.26, 0.08, 0.5, 0.06, 0.19, 0.12, 0.36, 0.05, 0.42, 0.22, 0.14, 0.31, 0.07, 0.1, 0.16, 0.04], positions=4
)
POSITION_BASED = PBM(examination=[1.0, 0.5, 0.3333, 0.25])
SETTING = "16 items with attractions from 0.04 to 0.5 on 4 positions, examined with 1, 1/2, 1/3 and 1/4 by"
