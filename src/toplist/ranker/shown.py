"""A list as its reader's page knows it, and its way through JSON."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import refuse
from toplist.core.slate import Ints, Slate
from toplist.ranker.open_lists import ForeignSlate

FORMAT = {"format": "toplist.Shown", "format_version": 1}


class Identity(NamedTuple):
    """Who made a list: a name for people, and a secret that seals what leaves the process."""

    name: str
    secret: str

    def seal(self, content: dict[str, Any]) -> str:
        """What only the ranker that made the list could have written under it."""
        text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.blake2b(text, key=bytes.fromhex(self.secret), digest_size=16).hexdigest()


class Shown:
    """One list that a ranker made or adopted; hand it to `learn` with the clicks that came back, once.

    It prints and iterates as its items. Everything that is needed to learn from it lies in it.
    """

    __slots__ = ("_identity", "_slate", "among", "items", "learned_before", "life", "number", "origin", "pinned")

    def __init__(
        self,
        identity: Identity,
        number: int,
        life: str,
        items: tuple[str, ...],
        slate: Slate,
        learned_before: int,
        *,
        origin: str = "policy",
        pinned: tuple[int, ...] = (),
        among: Ints | None = None,
    ) -> None:
        self._identity, self._slate = identity, slate
        self.number = number  # the how manieth list of its ranker, counted from 0
        self.life = life  # which copy of its ranker made it
        self.items = items
        self.learned_before = learned_before  # how many lists its ranker had learned when it was made
        self.origin = origin  # "policy", or "adopted"
        self.pinned = pinned  # positions that were given, counted from 1
        self.among = among  # slots of the eligible items, where it is still known

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[str]:
        return iter(self.items)

    def __getitem__(self, place: int) -> str:
        return self.items[place]

    def __repr__(self) -> str:
        return f"<Shown {self.number} of {self._identity.name}: {', '.join(self.items)}>"

    @property
    def ranker(self) -> str:
        """The name of the ranker that made it."""
        return self._identity.name

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it; `Ranker.shown` makes a list of it again."""
        content = FORMAT | {
            "ranker": self.ranker,
            "number": self.number,
            "life": self.life,
            "items": list(self.items),
            "slots": self._slate.items[: len(self.items)].tolist(),
            # To the last bit, and safe from readers that write numbers in another way or know no infinity.
            "rows": self._slate.rows[: len(self.items)].tobytes().hex(),
            "memo": self._slate.memo[: len(self.items)].tobytes().hex(),
            "learned_before": self.learned_before,
            "origin": self.origin,
            "pinned": list(self.pinned),
        }
        return content | {"seal": self._identity.seal(content)}

    @classmethod
    def from_dict(cls, given: Any, identity: Identity, empty: Slate) -> Shown:
        """The list that `as_dict` wrote, if this ranker made it and nobody changed it since."""
        accepted = "what as_dict() of one of this ranker's lists gave"
        if not isinstance(given, dict) or given.get("format") != FORMAT["format"]:
            raise refuse("The list", given, accepted, "keep the whole dict")
        if given.get("format_version") != FORMAT["format_version"]:
            accepted = f"{FORMAT['format_version']}, which this version of toplist reads"
            raise refuse("The list's format_version", given.get("format_version"), accepted, "upgrade toplist")
        if given.get("ranker") != identity.name:
            raise ForeignSlate(
                f"The list was made by the ranker {given.get('ranker')!r}, but this one is {identity.name!r}; "
                f"hand it to the ranker that made it."
            )
        content = {key: value for key, value in given.items() if key != "seal"}
        try:
            genuine = hmac.compare_digest(str(given.get("seal")).encode(), identity.seal(content).encode())
        except (TypeError, ValueError):  # what JSON cannot hold was never written by us
            genuine = False
        if not genuine:
            raise ForeignSlate(
                f"List {given.get('number')!r} is not as this ranker made it: it was changed, or is of another copy; "
                f"keep the dict of as_dict() as it is."
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
