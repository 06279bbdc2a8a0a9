"""A list as the caller gets it, and its conversion to JSON and back."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.core.item_id import OwnId
from toplist.core.problem import refuse
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Slate
from toplist.ranker.candidates import Candidates
from toplist.ranker.open_lists import ForeignSlate

FORMAT = {"format": "toplist.Shown", "format_version": 1}


class Identity(NamedTuple):
    """Identifies a ranker: a name to display, and a secret that signs the lists that leave the process."""

    name: str
    secret: str

    def seal(self, content: dict[str, Any]) -> str:
        """A signature that only the ranker with this secret can make."""
        text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.blake2b(text, key=bytes.fromhex(self.secret), digest_size=16).hexdigest()


class Shown:
    """One list that a ranker made or adopted; pass it to `Ranker.learn` once, with its clicks.

    It is a sequence of its items, best first, and holds everything needed to learn from it later.

    Attributes
    ----------
    items : tuple of str or int
        The items, from the top.
    number : int
        Index of the list among those of its ranker, from 0.
    life : str
        Id of the copy of the ranker that made it; a loaded or forked ranker is a new copy.
    learned_before : int
        Number of lists that the ranker had learned when it made this one.
    origin : {"policy", "adopted"}
        Whether the policy made it, or the caller of `Ranker.adopt`.
    pinned : tuple of int
        Pinned positions, from 1.
    among : Candidates or None
        Slots of the eligible items; None if unknown.
    propensities : ListProbabilities or None
        Per position the probability of its item given the items above, and whatever stands elsewhere, with their
        standard errors; None unless `Ranker.rank` was asked for them.

    See Also
    --------
    Ranker.rank, Ranker.adopt, Ranker.shown

    Examples
    --------
    >>> from toplist import Ranker
    >>> ranker = Ranker(["tea", "milk", "wine"], positions=2, policy="cascade-ucb1", name="drinks", compiled=False)
    >>> shown = ranker.adopt(["wine", "tea"])
    >>> shown
    <Shown 0 of drinks: wine, tea>
    >>> shown[0], len(shown), shown.origin
    ('wine', 2, 'adopted')
    """

    __slots__ = (
        "_identity", "_slate", "among", "items", "learned_before", "life", "number", "origin", "pinned", "propensities",
    )  # fmt: skip

    def __init__(
        self,
        identity: Identity,
        number: int,
        life: str,
        items: tuple[OwnId, ...],
        slate: Slate,
        learned_before: int,
        *,
        origin: str = "policy",
        pinned: tuple[int, ...] = (),
        among: Candidates | None = None,
        propensities: ListProbabilities | None = None,
    ) -> None:
        self._identity, self._slate = identity, slate
        self.number = number
        self.life = life
        self.items = items
        self.learned_before = learned_before
        self.origin = origin
        self.pinned = pinned
        self.among = among
        self.propensities = propensities

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[OwnId]:
        return iter(self.items)

    def __getitem__(self, place: int) -> OwnId:
        return self.items[place]

    def __repr__(self) -> str:
        return f"<Shown {self.number} of {self._identity.name}: {', '.join(map(str, self.items))}>"

    @property
    def ranker(self) -> str:
        """The name of the ranker that made it."""
        return self._identity.name

    @property
    def slate(self) -> Slate:
        """The list as the policy made it: slots, the feature rows they were scored with, and the policy's memo."""
        return self._slate

    def as_dict(self) -> dict[str, Any]:
        """The list as a dict for JSON, signed.

        Returns
        -------
        dict
            Strings, numbers and lists of them. Keep it unchanged; `Ranker.shown` turns it back into the list.
        """
        content = FORMAT | {
            "ranker": self.ranker,
            "number": self.number,
            "life": self.life,
            "items": list(self.items),
            "slots": self._slate.items[: len(self.items)].tolist(),
            # In hex, to keep every bit: other JSON writers round numbers, or cannot write infinity.
            "rows": self._slate.rows[: len(self.items)].tobytes().hex(),
            "memo": self._slate.memo[: len(self.items)].tobytes().hex(),
            "learned_before": self.learned_before,
            "origin": self.origin,
            "pinned": list(self.pinned),
        }
        return content | {"seal": self._identity.seal(content)}

    @classmethod
    def from_dict(cls, given: Any, identity: Identity, empty: Slate) -> Shown:
        """The list that `as_dict` wrote, if this ranker made it and it is unchanged; `empty` is a slate to fill."""
        accepted = "the dict of as_dict() of one of this ranker's lists"
        if not isinstance(given, dict) or given.get("format") != FORMAT["format"]:
            raise refuse("The list", given, accepted, "keep the whole dict")
        if given.get("format_version") != FORMAT["format_version"]:
            accepted = f"{FORMAT['format_version']}, which this version of toplist reads"
            raise refuse("The list's format_version", given.get("format_version"), accepted, "upgrade toplist")
        if given.get("ranker") != identity.name:
            raise ForeignSlate(
                f"The list was made by the ranker {given.get('ranker')!r}, but this one is {identity.name!r}; "
                f"learn it with the ranker that made it."
            )
        content = {key: value for key, value in given.items() if key != "seal"}
        try:
            genuine = hmac.compare_digest(str(given.get("seal")).encode(), identity.seal(content).encode())
        except (TypeError, ValueError):  # not JSON, so as_dict() did not write it
            genuine = False
        if not genuine:
            raise ForeignSlate(
                f"List {given.get('number')!r} does not carry the signature of this ranker: it was changed, or another "
                f"ranker called {identity.name!r} made it; keep the dict of as_dict() unchanged."
            )
        size = len(given["items"])
        empty.items[:size] = np.array(given["slots"], dtype=np.int64)
        empty.size[0] = size
        for array, kept in ((empty.rows[:size], given["rows"]), (empty.memo[:size], given["memo"])):
            array[...] = np.frombuffer(bytes.fromhex(kept)).reshape(array.shape)
        return cls(
            identity,
            given["number"],
            given["life"],
            tuple(given["items"]),
            empty,
            given["learned_before"],
            origin=given["origin"],
            pinned=tuple(given["pinned"]),
        )
