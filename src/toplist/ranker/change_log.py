"""What a policy found to have changed, under the names that items had then."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from toplist.support.tables import Table, count_text

REMEMBERED = 1000
COLUMNS = ("list", "item", "mean until then")


class ChangeLog:
    """The latest changes found; a policy names slots, which may have another item by the time somebody asks."""

    def __init__(self, kept: Iterable[Sequence[Any]] = (), noted: int = 0) -> None:
        self.rows: deque[tuple[int, str, float]] = deque(
            ((int(learned), str(item), float(mean)) for learned, item, mean in kept), maxlen=REMEMBERED
        )
        self.noted = noted  # how many were ever found

    def note(self, policy: Any, belief: Any, names: Sequence[str | None]) -> None:
        """Write down what is new."""
        for change in policy.changes(belief, after=self.noted):
            self.noted += 1
            self.rows.append((change.learned, str(names[change.item]), change.mean))

    def table(self) -> Table:
        """One row per change, the latest last."""
        title = f"{count_text(self.noted, 'change')} found"
        if self.noted > len(self.rows):
            title += f", the last {len(self.rows)} of them"
        return Table(title, COLUMNS, list(self.rows))
