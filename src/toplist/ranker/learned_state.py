"""What a saved ranker has learned, apart from its lists: another ranker of the same policy can begin with it."""

from __future__ import annotations

import io
import zipfile
from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import saved_arrays
from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput
from toplist.ranker.saved_file import SavedRanker, unpack
from toplist.ranker.snapshot import State
from toplist.support.files import arrays_of
from toplist.support.part_json import as_plain

ORIGIN = "The saved ranker"


class LearnedState(NamedTuple):
    """What a ranker has learned about its items.

    Parameters
    ----------
    header : dict
        Plain values: `policy`, `positions`, `steps` and `features`, which another ranker must share; `names` of the
        items by slot; `learned`, the number of lists; and the `changes` that were detected.
    arrays : dict of str to ndarray
        The belief, the slots that were `examined`, and the `features` of the items.
    scale : float
        Divisor of the features.
    """

    header: dict[str, Any]
    arrays: dict[str, Any]
    scale: float = 1.0

    @property
    def names(self) -> list[ItemId]:
        """The items."""
        return list(self.header["names"])

    @property
    def learned(self) -> int:
        """Number of lists learned."""
        return int(self.header["learned"])

    def own_features(self) -> Any:
        """The features of the items as they were given, a row per item."""
        return self.arrays["features"] * self.scale

    def packed(self) -> bytes:
        """Compress it; equal ones give equal bytes."""
        return State(self.header | {"scale": self.scale}, self.arrays).packed()

    @classmethod
    def unpacked(cls, packed: bytes) -> LearnedState:
        """Restore it from the bytes of `packed`."""
        header, arrays = State.unpacked(packed)
        return cls(header, arrays, header.pop("scale"))


def learned_of(saved: SavedRanker) -> LearnedState:
    """What a saved ranker has learned, all that does not depend on its own lists."""
    used = saved.items.used
    names = saved.items.names[:used]
    if None in names:
        raise InvalidInput(
            f"{ORIGIN} has gaps where items were removed, so that its belief fits no other; make a new one, and let it "
            f"learn the lists."
        )
    features = saved.features
    header = {
        **shape_of(saved.policy, saved.options.positions, saved.options.steps, features.total),
        "names": names,
        "learned": saved.learned,
        "changes": [list(row) for row in saved.changes.rows],
        "noted": saved.changes.total,
    }
    arrays = {"examined": np.flatnonzero(saved.items.examined), "features": features.rows[:used].copy()}
    arrays |= {f"belief.{name}": array for name, array in saved.belief.items()}
    return LearnedState(header, arrays, features.scale)


def shape_of(policy: Any, positions: int, steps: int | None, features: int) -> dict[str, Any]:
    """What two rankers must share for one to begin with the belief of the other."""
    return {"policy": as_plain(policy), "positions": positions, "steps": steps, "features": features}


def read_learned(content: bytes, most_bytes: int) -> LearnedState:
    """What the ranker in the bytes of a saved file has learned.

    Parameters
    ----------
    content : bytes
        The content of a file that `Ranker.save` wrote.
    most_bytes : int
        Limit of its size once it is unpacked.

    Returns
    -------
    LearnedState
        What it has learned.

    Raises
    ------
    InvalidInput
        If the bytes are no saved ranker, or are too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(each.file_size for each in packed.infolist())
    except zipfile.BadZipFile:
        raise InvalidInput(f"{ORIGIN} is not the content of a file that Ranker.save has written.") from None
    if size > most_bytes:
        raise InvalidInput(f"{ORIGIN} has {size:,} bytes, but {most_bytes:,} are the most.")
    header, arrays = arrays_of(io.BytesIO(content), ORIGIN, "Ranker.save")
    return learned_of(unpack(ORIGIN, header, arrays))


def fill_belief(belief: Any, state: LearnedState) -> None:
    """Fill the belief about the same items, and perhaps more behind them; nothing is changed if it does not fit."""
    own = saved_arrays(belief)
    found = {name.removeprefix("belief."): array for name, array in state.arrays.items() if name.startswith("belief.")}
    for name, array in own.items():
        other = found.get(name)
        if other is None or other.dtype != array.dtype or other.shape[1:] != array.shape[1:]:
            raise InvalidInput(f"{ORIGIN} does not hold the belief of its policy: {name} is missing or does not fit.")
    for name, array in own.items():
        shared = min(len(array), len(found[name]))  # more slots than items, in one of them, are as they began
        array[:shared] = found[name][:shared]
