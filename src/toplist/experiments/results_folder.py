"""What a folder of results has to tell of each experiment, for the report and for the page of the documents."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toplist.experiments import library
from toplist.experiments.experiment import Experiment, Outcome
from toplist.experiments.papers import PAPERS, Paper
from toplist.experiments.required_data import KINDS
from toplist.experiments.run_experiment import FIGURE, Verdict, read_verdict

NEVER = "never run"
GOOD = (Outcome.MET, Outcome.SCALED, Outcome.SUBSTITUTE)

SIGNS = {
    Outcome.MET: "✓",
    Outcome.SCALED: "≈",
    Outcome.SUBSTITUTE: "⇄",
    Outcome.UNDECIDED: "?",
    Outcome.NOT_MET: "✗",
    Outcome.NEEDS_DATA: "○",
    NEVER: "–",  # noqa: RUF001  a dash
}


class Entry(NamedTuple):
    """An experiment, and what came out of it."""

    name: str
    experiment: Experiment
    verdict: Verdict | None  # None where it was never run
    home: Path

    @property
    def paper(self) -> str:
        """The key of its paper."""
        return self.name.partition("/")[0]

    @property
    def played(self) -> Verdict | None:
        """What came out, if it was played at all."""
        lacking = self.verdict is None or self.verdict.outcome == Outcome.NEEDS_DATA
        return None if lacking else self.verdict

    @property
    def state(self) -> str:
        """How it came out, in words."""
        return NEVER if self.verdict is None else str(self.verdict.outcome)

    @property
    def how(self) -> str:
        """How to get the data that it needs and has not had; empty where there is nothing to get."""
        if not self.experiment.data or self.played is not None:
            return ""
        return f"Get {KINDS[self.experiment.data].how}."

    @property
    def seconds(self) -> float:
        """How long it took."""
        return 0.0 if self.verdict is None else self.verdict.seconds

    def figure(self, suffix: str) -> Path | None:
        """Its figure of that kind, if it was drawn."""
        path = (self.home / FIGURE).with_suffix(suffix)
        return path if self.played is not None and path.is_file() else None

    def met(self) -> str:
        """How many claims are met, of how many."""
        if self.played is None:
            return ""
        return f"{sum(claim.outcome in GOOD for claim in self.played.claims)} of {len(self.played.claims)}"

    def command(self) -> str:
        """What to type to run it again as it was run, or for the first time."""
        words = ["toplist", "reproduce", self.name]
        if self.played is not None:
            size = self.played.size
            usual = self.experiment.quick if size.quick else self.experiment.full
            words += ["--quick"] if size.quick else []
            words += ["--steps", str(size.steps)] if size.steps != usual.steps else []
            words += ["--runs", str(size.runs)] if size.runs != usual.runs else []
            words += ["--seed", str(size.seed)] if size.seed else []
        words += ["--data", "FOLDER"] if self.experiment.data else []
        return shlex.join(words)


class Chapter(NamedTuple):
    """A paper with its experiments."""

    key: str
    paper: Paper
    entries: Sequence[Entry]


def chapters(folder: Path) -> list[Chapter]:
    """Everything there is, paper by paper in the order of years."""
    entries = [Entry(name, each, read_verdict(name, folder), folder / name) for name, each in library.library().items()]
    known = list(PAPERS)
    keys = sorted({entry.paper for entry in entries}, key=lambda key: (known.index(key) if key in known else 99, key))
    return [
        Chapter(key, PAPERS.get(key, Paper("", key, "")), [entry for entry in entries if entry.paper == key])
        for key in keys
    ]


def tally(entries: Iterable[Entry]) -> dict[str, int]:
    """How many experiments came out how, the best first; only what there is."""
    states = [entry.state for entry in entries]
    return {state: states.count(state) for state in (*map(str, Outcome), NEVER) if state in states}


def regrets(verdict: Verdict) -> list[list[str]]:
    """Where the curves end, a row per part and a column per policy, with a row of heads; empty where none was played.

    >>> from toplist.experiments.experiment import Size
    >>> from toplist.experiments.run_experiment import Regret
    >>> found = [Regret("K = 2", "a", 9.96, 0.04, 20), Regret("K = 2", "b", 1234.0, 5.5, 20)]
    >>> regrets(Verdict("some", [], Size(10, 20), 1.0, regrets=found))
    [['', 'a', 'b', 'runs'], ['K = 2', '10.0 ± 0.0', '1,234.0 ± 5.5', '20']]
    """
    policies = several(regret.policy for regret in verdict.regrets)
    rows: dict[str, dict[str, str]] = {}
    for part, policy, mean, error, runs in verdict.regrets:
        rows.setdefault(part, {"runs": str(runs)})[policy] = f"{mean:,.1f} ± {error:,.1f}"
    table = [[part, *(row.get(name, "") for name in (*policies, "runs"))] for part, row in rows.items()]
    return [["", *policies, "runs"], *table] if table else []


def several(values: Iterable[str]) -> list[str]:
    """Each once, in their order, without empty ones."""
    return list(dict.fromkeys(value for value in values if value))


def machine(verdict: Verdict) -> str:
    """What it was played on, in a line."""
    told = verdict.machine
    if not told:
        return ""
    cores = told.get("cores", "?")
    hardware = f"{cores} core{'' if cores == 1 else 's'} of {told.get('processor', 'a processor')}"
    return f"{hardware}, {told.get('system', 'a system')}, Python {told.get('python', '?')}"


def moment(text: str) -> str:
    """A moment as people write it.

    >>> moment("2026-11-15T19:39:06+00:00")
    '2026-11-15 19:39 UTC'
    """
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return text
