"""The changes that a policy has detected, under the names that the items had then."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from toplist.core.item_id import ItemId
from toplist.support.tables import Table, count_text

MAX_ROWS = 1000
COLUMNS = ("list", "item", "mean until then")


class ChangeLog:
    """The latest changes; a policy names slots, which may hold another item by the time the log is read."""

    def __init__(self, kept: Iterable[Sequence[Any]] = (), total: int = 0) -> None:
        self.rows: deque[tuple[int, ItemId, float]] = deque(
            ((int(learned), _named(item), float(mean)) for learned, item, mean in kept), maxlen=MAX_ROWS
        )
        self.total = total  # changes ever detected

    def update(self, policy: Any, belief: Any, names: Sequence[ItemId | None]) -> None:
        """Add the changes detected since the last update."""
        for change in policy.changes(belief, after=self.total):
            self.total += 1
            self.rows.append((change.learned, _named(names[change.item]), change.mean))

    def table(self) -> Table:
        """One row per change, the latest last."""
        title = f"{count_text(self.total, 'change')} found"
        if self.total > len(self.rows):
            title += f", the last {len(self.rows)} of them"
        return Table(title, COLUMNS, list(self.rows))


def _named(item: ItemId | None) -> ItemId:
    """An item; one that was removed before the change was detected has no name."""
    return item if isinstance(item, int) else str(item)
