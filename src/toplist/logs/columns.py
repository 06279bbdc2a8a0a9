"""The columns of a log: their roles, and which column of a file has which role."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from toplist.core.problem import nearest, refuse, several

# Names that are recognised without an argument, by role.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "segment", "query_id"),
    "items": ("items", "docs", "documents"),
    "clicked": ("clicked", "clicked_positions", "clicks"),
    "list": ("list", "list_id", "impression", "impression_id"),
    "position": ("position", "rank"),
    "item": ("item", "item_id", "doc"),
    "click": ("click", "is_clicked"),
    "time": ("time", "timestamp", "at"),
    "visitor": ("visitor", "visitor_id", "user", "user_id"),
    "propensity": ("propensity", "propensities"),
    "marginal": ("marginal", "marginals"),
    "target_propensity": ("target_propensity", "target_propensities"),
    "target_marginal": ("target_marginal", "target_marginals"),
    "seen": ("seen",),
    "left": ("left",),
    "weight": ("weight",),
}
PART = 65_536  # lists; larger parts touch more memory, which takes longer than the work on them
PROBABILITIES = ("propensity", "marginal", "target_propensity", "target_marginal", "seen")  # columns per position
OPTIONAL = ("time", "visitor", *PROBABILITIES, "left", "weight")


Scattered = Literal["reject", "raise", "gather"]  # to gather them, all rows of a source are read at once


class ScatteredList(Exception):
    """The rows of a list are not together."""


class ReadOptions(NamedTuple):
    """How to read a log; the arguments of `read_log`."""

    columns: Mapping[str, str | None] = {}
    only: tuple[str, ...] | None = None
    first_position: int = 1
    separator: str = ","
    ranking: str | None = None
    part: int = PART
    scattered: Scattered = "reject"  # lists whose rows are not together

    @classmethod
    def of(
        cls, columns: Mapping[str, str | None], only: Sequence[str] | None, first_position: int, separator: str,
        ranking: str | None, part: int,
    ) -> ReadOptions:  # fmt: skip
        """Check the arguments."""
        for role in columns:
            if role not in USUAL_NAMES:
                advice = nearest(role, USUAL_NAMES, "give {role: name of the column}")
                raise refuse("A role in columns", role, f"one of {', '.join(USUAL_NAMES)}", advice)
        if only is not None:
            only = tuple(several("only", only, "names of optional columns"))
            for role in only:
                if role not in OPTIONAL:
                    advice = nearest(role, OPTIONAL, "query, items and clicks are always read")
                    raise refuse("A name in only", role, f"one of {', '.join(OPTIONAL)}", advice)
        if first_position not in (0, 1):
            raise refuse("first_position", first_position, "0 or 1", "say how the log numbers the top position")
        return cls(columns, only, first_position, separator, ranking, part)

    def wants(self, role: str) -> bool:
        """Whether an optional column is to be read if there is one."""
        return role not in OPTIONAL or self.only is None or role in self.only

    def find(self, present: Collection[str], roles: Sequence[str]) -> dict[str, str]:
        """Columns by role, of those that are present and wanted; a named column that is missing is refused."""
        found = {}
        for role in roles:
            if not self.wants(role):
                continue
            if role in self.columns:
                name = self.columns[role]
                if name is None:
                    continue
                if name not in present:
                    advice = nearest(name, present, f"see the names: {', '.join(present)}"[:200])
                    raise refuse(f"The column of {role}", name, "a column of the log", advice)
                found[role] = name
                continue
            usual = next((name for name in USUAL_NAMES[role] if name in present), None)
            if usual is not None:
                found[role] = usual
            elif self.only is not None and role in self.only:
                accepted = f"the role of a column, such as {' or '.join(USUAL_NAMES[role])}"
                raise refuse("A name in only", role, accepted, "name the column with columns={...}, or leave it out")
        return found
