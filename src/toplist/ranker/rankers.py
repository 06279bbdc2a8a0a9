"""A family of rankers, one per key, in which a new key begins with what all the others have learned."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from toplist.core.defaults import DEFAULT_POLICY
from toplist.core.item_id import ItemId, checked_id, plain_id
from toplist.core.problem import InvalidInput, checked_seed, number, refuse, several
from toplist.core.protocols import Capabilities
from toplist.policies.by_name import make
from toplist.ranker import saved_file
from toplist.ranker.edit_items import one_or_several
from toplist.ranker.features import feature_rows
from toplist.ranker.pool import Pool
from toplist.ranker.priors import Prior, Priors, checked_priors
from toplist.ranker.ranker import Ranker
from toplist.ranker.saved_family import SavedFamily, pack_family, read_family, unpack_family, write_family
from toplist.ranker.shown import Shown
from toplist.support.catalogue import part_text
from toplist.support.files import AnyPath
from toplist.support.tables import Table

POOLS = ("none", "prior")
Key = ItemId | None


class Rankers:
    """Rankers of the same items, one per key: a query, a kind of visitors, a page. Each is made when it is first used.

    A new key does not start cold: with `pool="prior"`, its ranker begins with a prior for each item, the item's mean
    over all keys. How strong the prior is follows from how much keys differ (empirical Bayes), or is stated. Lists
    under the key None are of everybody: they tell about the mean, not about differences.

    Methods with a key are those of its `Ranker`; changes of the items are made for all keys. Any number of threads may
    use a family.

    Parameters
    ----------
    items : iterable of str or int
        Ids of the items, as in `Ranker`.
    positions : int
        Length of the longest list.
    policy : str or Policy, default "dcm-ts"
        Name in the catalogue, or a policy made of parts.
    seed : int, default 0
        Seed of all random choices; every key has its own, derived from it.
    pool : {"prior", "none"}, default "prior"
        Whether a new key begins with what the others have learned, or from nothing.
    pool_strength : float, optional
        Number of looks that the mean over all keys is worth in a new key; learned by default.
    features : mapping or array_like, optional
        A row of numbers per item, as in `Ranker`.
    priors : mapping of str or int to Prior or (float, float), optional
        Priors of single items, as in `Ranker`.
    name : str, optional
        Name of the family, which its lists carry before the key; random by default.
    **options
        Further parameters of `Ranker`, the same for all keys.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, or the policy does not fit it: pooling needs a policy that counts clicks per item
        and forgets nothing.

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
    >>> rankers.keys()
    ['monday', 'tuesday']
    """

    def __init__(
        self,
        items: Iterable[ItemId],
        positions: int,
        policy: Any = DEFAULT_POLICY,
        seed: int = 0,
        *,
        pool: str = "prior",
        pool_strength: float | None = None,
        features: Any = None,
        priors: Priors | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        names = several("items", items, "names")
        made = make(policy)
        if pool not in POOLS:
            raise refuse("pool", pool, " or ".join(map(repr, POOLS)), "say what a new key begins with")
        if pool == "prior" and (reason := pool_refusal(made.capabilities())) is not None:
            title = policy if isinstance(policy, str) else part_text(made)
            raise InvalidInput(f"The policy {title} cannot pool keys, since it {reason}; give pool='none'.")
        if pool_strength is not None:
            pool_strength = number("pool_strength", pool_strength, 0.0, 1e9, "or leave it out to learn it")
        self.pool, self.pool_strength = pool, pool_strength
        self._policy, self._options = policy, options
        self._seed = checked_seed(seed)
        self._lock = threading.RLock()
        self._rankers: dict[Key, Ranker] = {}
        # It ranks nothing: it checks what all keys share, and every change of the items before the keys have it.
        self._template = Ranker(
            names, positions, policy, seed, features=features, priors=priors, name=name or secrets.token_hex(4),
            **options,
        )  # fmt: skip
        self._priors = checked_priors(priors or {}, names)
        self._rows: dict[ItemId, Any] = dict.fromkeys(self._template.items)
        if features is not None:
            self._rows = dict(zip(names, feature_rows("features", features, names), strict=True))

    # Keys -------------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Key) -> Ranker:
        """The ranker of a key, made if it is new."""
        known = key if key is None else checked_id("The key", key)
        with self._lock:
            ranker = self._rankers.get(known)
            if ranker is None:
                ranker = self._rankers[known] = self._new_ranker(known)
            return ranker

    def __contains__(self, key: object) -> bool:
        return (key is None or plain_id(key) is not None) and key in self._rankers

    def __len__(self) -> int:
        return len(self._rankers)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"<Rankers {self.name}: {len(self)} keys, {len(self._template)} items>"

    @property
    def name(self) -> str:
        """The name of the family."""
        return self._template.name

    @property
    def items(self) -> list[Any]:
        """All items, including hidden ones."""
        return self._template.items

    def keys(self) -> list[Key]:
        """The keys that have a ranker.

        Returns
        -------
        list of str, int or None
            In the order in which they came.
        """
        with self._lock:
            return list(self._rankers)

    def strength(self) -> float:
        """How many looks the mean over all keys would be worth in a new key now.

        Returns
        -------
        float
            The stated strength, or the learned one: the less keys differ, the larger.
        """
        with self._lock:
            return self._strength(self._pool())

    def _strength(self, pool: Pool) -> float:
        return pool.strength() if self.pool_strength is None else self.pool_strength

    def _pool(self) -> Pool:
        """What all keys have learned."""
        pool = Pool()
        for key, ranker in self._rankers.items():
            ranker._add_to_pool(pool, is_key=key is not None)
        return pool

    def _new_ranker(self, key: Key) -> Ranker:
        template = self._template
        priors = self._priors
        if self.pool == "prior":
            pool = self._pool()
            priors = pool.priors(self._strength(pool), priors)
        features = self._rows if template.capabilities.needs_features else None
        ranker = Ranker(
            list(self._rows), template.positions, self._policy, key_seed(self._seed, key), features=features,
            priors={item: prior for item, prior in priors.items() if item in template},
            name=self.name if key is None else f"{self.name}/{key}", **self._options,
        )  # fmt: skip
        if hidden := template.hidden:
            ranker.hide(hidden)
        if self.pool == "prior":
            ranker._keep_own_counts()
        return ranker

    # Lists ------------------------------------------------------------------------------------------------------------

    def rank(self, key: Key, *given: Any, **more: Any) -> Shown:
        """Make a list for a key, as `Ranker.rank` does.

        Parameters
        ----------
        key : str, int or None
            The key; None for a list of everybody.
        *given, **more
            As in `Ranker.rank`.

        Returns
        -------
        Shown
            The items, best first; pass it to `learn` once its clicks are known.
        """
        return self[key].rank(*given, **more)

    def adopt(self, key: Key, items: Sequence[ItemId], *given: Any, **more: Any) -> Shown:
        """Take a list that the ranker of a key did not make, as `Ranker.adopt` does.

        Parameters
        ----------
        key : str, int or None
            The key.
        items : sequence of str or int
            The items shown, from the top.
        *given, **more
            As in `Ranker.adopt`.

        Returns
        -------
        Shown
            The list, to pass to `learn`.
        """
        return self[key].adopt(items, *given, **more)

    def shown(self, key: Key, kept: Mapping[str, Any]) -> Shown:
        """Turn the dict of a list of a key back into the list, as `Ranker.shown` does.

        Parameters
        ----------
        key : str, int or None
            The key.
        kept : dict
            The result of `Shown.as_dict`, unchanged.

        Returns
        -------
        Shown
            The list, to pass to `learn`.
        """
        return self[key].shown(kept)

    def learn(self, key: Key, shown: Shown, clicks: Any, left: Any = None, seen: Any = None) -> None:
        """Learn from the clicks on a list of a key, as `Ranker.learn` does.

        Parameters
        ----------
        key : str, int or None
            The key for which the list was made.
        shown : Shown
            A list of `rank`, `adopt` or `shown`.
        clicks, left, seen
            As in `Ranker.learn`.
        """
        self[key].learn(shown, clicks, left, seen)

    def estimates(self, key: Key, person: Any = None) -> Table:
        """Estimate every item for a key, as `Ranker.estimates` does.

        Parameters
        ----------
        key : str, int or None
            The key.
        person : array_like of float, optional
            Features of the visitor.

        Returns
        -------
        Table
            One row per item.
        """
        return self[key].estimates(person)

    def explain(self, key: Key, shown: Shown) -> Table:
        """Explain why each item of a list of a key stands at its position, as `Ranker.explain` does.

        Parameters
        ----------
        key : str, int or None
            The key.
        shown : Shown
            The list.

        Returns
        -------
        Table
            One row per position.
        """
        return self[key].explain(shown)

    # Items ------------------------------------------------------------------------------------------------------------

    def add(self, items: ItemId | Iterable[ItemId], features: Any = None, priors: Priors | None = None) -> None:
        """Add one or several items for all keys, as `Ranker.add` does.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Names that the family does not have yet.
        features : array_like or mapping, optional
            A row of numbers per item.
        priors : mapping of str or int to Prior or (float, float), optional
            Priors of some of these items.
        """
        names = one_or_several(items)
        with self._lock:
            self._template.add(items, features=features, priors=priors)
            rows: Sequence[Any] = [None] * len(names)
            if features is not None:
                alone = plain_id(items) is not None and not isinstance(features, Mapping)
                rows = [features] if alone else feature_rows("features", features, names)
            for ranker in self._rankers.values():
                ranker.add(items, features=features, priors=priors)
            self._rows |= zip(names, rows, strict=True)
            self._priors |= checked_priors(priors or {}, names)

    def remove(self, items: ItemId | Iterable[ItemId]) -> None:
        """Remove one or several items for all keys and for good, as `Ranker.remove` does.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the family.
        """
        names = one_or_several(items)
        with self._lock:
            for ranker in self._all():
                ranker.remove(names)
            for name in names:
                del self._rows[name]
                self._priors.pop(name, None)

    def hide(self, items: ItemId | Iterable[ItemId]) -> None:
        """Hide one or several items from the lists of all keys, as `Ranker.hide` does.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the family.
        """
        names = one_or_several(items)
        with self._lock:
            for ranker in self._all():
                ranker.hide(names)

    def unhide(self, items: ItemId | Iterable[ItemId]) -> None:
        """Show one or several hidden items again.

        Parameters
        ----------
        items : str, int, or iterable of str or int
            Items of the family.
        """
        names = one_or_several(items)
        with self._lock:
            for ranker in self._all():
                ranker.unhide(names)

    def change(self, item: ItemId, features: Any) -> None:
        """Replace the features of an item for all keys, as `Ranker.change` does.

        Parameters
        ----------
        item : str or int
            An item of the family.
        features : array_like of float
            Its new row.
        """
        with self._lock:
            for ranker in self._all():
                ranker.change(item, features)
            self._rows[item] = features

    def _all(self) -> list[Ranker]:
        """The template, which refuses what cannot be done before any key has it; and the rankers of all keys."""
        return [self._template, *self._rankers.values()]

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: AnyPath) -> None:
        """Save the rankers of all keys to one file, atomically, as `Ranker.save` does.

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
        family._template, family._rankers = template, dict(zip(saved.keys, rankers, strict=True))
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


def pool_refusal(can: Capabilities) -> str | None:
    """Why rankers of a policy cannot begin with what others have learned; None if they can."""
    if can.needs_features:
        return "learns from features"
    if can.samples == "nothing":
        return "takes no priors of items"
    return "forgets, but what is pooled is kept for ever" if can.forgets else None


def key_seed(seed: int, key: Key) -> int:
    """The seed of a key's ranker; without a key, that of the family."""
    if key is None:
        return seed
    text = f"{seed}/{key}" if isinstance(key, str) else f"{seed}/\t{key}"
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") >> 1
