"""A family of rankers, one per segment, in which a new segment begins with what all the others have learned."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.prior import Prior
from toplist.ranker import saved_file
from toplist.ranker.family import RankerFamily, SegmentId
from toplist.ranker.ranker import Ranker
from toplist.ranker.saved_family import SavedFamily, pack_family, read_family, unpack_family, write_family
from toplist.ranker.shown import Shown
from toplist.support.files import AnyPath
from toplist.support.former_names import accepts_former
from toplist.support.tables import Table


class Rankers(RankerFamily):
    """Rankers of the same items, one per segment (a query, a kind of visitors, a page), made when first used.

    A new segment does not start cold: with `pool="prior"`, its ranker begins with a prior for each item, the item's
    mean over all segments, or for the weights of features. How strong the prior is follows from how much segments
    differ (empirical Bayes), or is stated. Lists under the segment None are of everybody: they tell about the mean, not
    about differences.

    Methods with a segment are those of its `Ranker`; changes of the items are made for all segments. Any number of
    threads may use a family. They also accept a segment as `key=`, its former name.

    Parameters
    ----------
    items : iterable of str or int
        Ids of the items, as in `Ranker`.
    positions : int
        Length of the longest list.
    policy : str or Policy, default "dcm-ts"
        Name in the catalogue, or a policy made of parts.
    seed : int, default 0
        Seed of all random choices; every segment has its own, derived from it.
    pool : {"prior", "none"}, default "prior"
        Whether a new segment begins with what the others have learned, or from nothing.
    pool_strength : float, optional
        Number of looks at an item that the mean over all segments is worth in a new segment; learned by default.
    features : mapping or array_like, optional
        A row of numbers per item, as in `Ranker`.
    priors : mapping of str or int to Prior or (float, float), optional
        Priors of single items, as in `Ranker`.
    name : str, optional
        Name of the family, which its lists carry before the segment; random by default.
    **options
        Further parameters of `Ranker`, the same for all segments.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, or the policy does not fit it: pooling needs a policy that counts clicks per item
        or whose memory is `Ridge`, and that forgets nothing; C3-UCB and logistic policies do not pool.

    See Also
    --------
    Ranker

    Examples
    --------
    >>> rankers = Rankers(["tea", "milk", "wine"], positions=1, policy="cascade-ucb1", compiled=False)
    >>> for _ in range(50):
    ...     rankers.learn("monday", rankers.adopt("monday", ["milk"]), clicks=["milk"])
    >>> rankers.estimates("tuesday")["milk"]["mean"]
    1.0
    >>> rankers.segments()
    ['monday', 'tuesday']
    """

    # Lists ------------------------------------------------------------------------------------------------------------

    @accepts_former("key", "segment")
    def rank(self, segment: SegmentId, *given: Any, **more: Any) -> Shown:
        """Make a list for a segment, as `Ranker.rank` does.

        Parameters
        ----------
        segment : str, int or None
            The segment; None for a list of everybody.
        *given, **more
            As in `Ranker.rank`.

        Returns
        -------
        Shown
            The items, best first; pass it to `learn` once its clicks are known.
        """
        return self[segment].rank(*given, **more)

    @accepts_former("key", "segment")
    def adopt(self, segment: SegmentId, items: Sequence[ItemId], *given: Any, **more: Any) -> Shown:
        """Take a list that the ranker of a segment did not make, as `Ranker.adopt` does.

        Parameters
        ----------
        segment : str, int or None
            The segment.
        items : sequence of str or int
            The items shown, from the top.
        *given, **more
            As in `Ranker.adopt`.

        Returns
        -------
        Shown
            The list, to pass to `learn`.
        """
        return self[segment].adopt(items, *given, **more)

    @accepts_former("key", "segment")
    def shown(self, segment: SegmentId, kept: Mapping[str, Any]) -> Shown:
        """Turn the dict of a list of a segment back into the list, as `Ranker.shown` does.

        Parameters
        ----------
        segment : str, int or None
            The segment.
        kept : dict
            The result of `Shown.as_dict`, unchanged.

        Returns
        -------
        Shown
            The list, to pass to `learn`.
        """
        return self[segment].shown(kept)

    @accepts_former("key", "segment")
    def learn(self, segment: SegmentId, shown: Shown, clicks: Any, left: Any = None, seen: Any = None) -> None:
        """Learn from the clicks on a list of a segment, as `Ranker.learn` does.

        Parameters
        ----------
        segment : str, int or None
            The segment for which the list was made.
        shown : Shown
            A list of `rank`, `adopt` or `shown`.
        clicks, left, seen
            As in `Ranker.learn`.
        """
        self[segment].learn(shown, clicks, left, seen)

    @accepts_former("key", "segment")
    def estimates(self, segment: SegmentId, person: Any = None) -> Table:
        """Estimate every item for a segment, as `Ranker.estimates` does.

        Parameters
        ----------
        segment : str, int or None
            The segment.
        person : array_like of float, optional
            Features of the visitor.

        Returns
        -------
        Table
            One row per item.
        """
        return self[segment].estimates(person)

    @accepts_former("key", "segment")
    def explain(self, segment: SegmentId, shown: Shown) -> Table:
        """Explain why each item of a list of a segment stands at its position, as `Ranker.explain` does.

        Parameters
        ----------
        segment : str, int or None
            The segment.
        shown : Shown
            The list.

        Returns
        -------
        Table
            One row per position.
        """
        return self[segment].explain(shown)

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: AnyPath) -> None:
        """Save the rankers of all segments to one file, atomically, as `Ranker.save` does.

        Parameters
        ----------
        path : str or path-like
            The file, in an existing folder. Only its owner may read it, since it holds the secrets that sign lists.
        """
        write_family(path, self._saved())

    def _saved(self) -> SavedFamily:
        with self._lock:
            options = {name: value for name, value in self._options.items() if name != "compiled"}
            shared = {"pool": self.pool, "pool_strength": self.pool_strength, "seed": self._seed}
            return SavedFamily(
                shared | {"options": _plain(options)},
                list(self._rows.items()),
                [(item, *prior) for item, prior in self._priors.items()],
                list(self._rankers),
                self._template._packed(),
                [ranker._packed() for ranker in self._rankers.values()],
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as `save` and `load` do."""
        return _unpickled, (*pack_family(self._saved()), self._template.policy, self._options.get("compiled", True))

    @classmethod
    def load(cls, path: AnyPath, policy: Any = None, *, compiled: bool = True) -> Self:
        """Load saved rankers, which continue where they were saved.

        Parameters
        ----------
        path : str or path-like
            A file that `save` wrote.
        policy : Policy, optional
            The saved policy; required if it has parts of your own, since a file never imports code.
        compiled : bool, default True
            As for a new ranker.

        Returns
        -------
        Rankers
            They make the same lists as the saved ones would have.

        Raises
        ------
        InvalidInput
            If the file is missing, damaged, of a newer format, or was saved with another policy.
        """
        return cls._of_saved(read_family(path), path, policy, compiled)

    @classmethod
    def _of_saved(cls, saved: SavedFamily, path: AnyPath, policy: Any, compiled: bool) -> Self:
        family = cls.__new__(cls)
        template, *rankers = (
            Ranker._of_saved(saved_file.unpack(path, *packed, policy), path, compiled)
            for packed in (saved.template, *saved.rankers)
        )
        shared = saved.shared
        family.pool, family.pool_strength, family._seed = shared["pool"], shared["pool_strength"], shared["seed"]
        family._policy, family._options = template.policy, shared["options"] | {"compiled": compiled}
        family._lock = threading.RLock()
        family._template, family._rankers = template, dict(zip(saved.segments, rankers, strict=True))
        family._rows = dict(saved.rows)
        family._priors = {item: Prior(mean, strength) for item, mean, strength in saved.priors}
        return family


def _unpickled(header: dict[str, Any], arrays: dict[str, Any], policy: Any, compiled: bool) -> Rankers:
    origin = "The pickled rankers"
    return Rankers._of_saved(unpack_family(origin, header, arrays), origin, policy, compiled)


def _plain(value: Any) -> Any:
    """Arguments as JSON holds them."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
