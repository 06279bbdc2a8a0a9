"""The protocols of parts; the only place where the hot methods of parts are registered with the compiler.

Methods of the `Hot` protocols run inside the compiled loop: they allocate nothing, call only scalar mathematics and
other parts, and work in the arrays they are given. The others run once, in plain Python. Beliefs, caches and moments
are NamedTuples of arrays that the part defines.
"""

from toplist.core.protocols.arms import HotArms, HotCopied
from toplist.core.protocols.arrangements import Arrangement, HotArrangement
from toplist.core.protocols.capabilities import Capabilities
from toplist.core.protocols.detectors import Change, Detecting, Detector, HotDetector
from toplist.core.protocols.environments import HotEnvironment
from toplist.core.protocols.indices import (
    DrawingOne,
    Exact,
    HotGauge,
    HotIndex,
    HotSelection,
    HotShortlist,
    HotTangent,
    Index,
)
from toplist.core.protocols.list_probabilities import (
    DrawingIndependently,
    DrawingLast,
    DrawingOnce,
    Forcing,
    Weighing,
    WeighingSeveral,
)
from toplist.core.protocols.memories import Deviating, Forgetting, HotMemory, Memory, Tallying
from toplist.core.protocols.policies import Assessing, Assessment, HotPolicy, PolicyLike, Renumbering
from toplist.core.protocols.prepared import Prepared
from toplist.core.protocols.readings import HotReading, Reading
from toplist.core.protocols.starts import HotStart, Start
from toplist.core.protocols.users import HotUsers, Users
from toplist.core.protocols.worlds import Breaking, HotShift, HotWorld, Passing, Shift, World

__all__ = [
    "Capabilities",
    "Prepared",
    "Assessment",
    "Change",
    "HotUsers",
    "Users",
    "HotWorld",
    "World",
    "Breaking",
    "Passing",
    "HotShift",
    "Shift",
    "HotReading",
    "Reading",
    "HotMemory",
    "Memory",
    "HotDetector",
    "HotEnvironment",
    "Detector",
    "Tallying",
    "Deviating",
    "Forgetting",
    "Detecting",
    "HotIndex",
    "HotGauge",
    "HotTangent",
    "HotShortlist",
    "HotSelection",
    "Index",
    "Exact",
    "DrawingOne",
    "DrawingIndependently",
    "DrawingOnce",
    "DrawingLast",
    "Forcing",
    "HotArrangement",
    "Arrangement",
    "HotStart",
    "Start",
    "HotArms",
    "HotCopied",
    "HotPolicy",
    "PolicyLike",
    "Assessing",
    "Renumbering",
    "Weighing",
    "WeighingSeveral",
]
