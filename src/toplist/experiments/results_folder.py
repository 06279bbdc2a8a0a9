"""Reads a folder of results for the report and for docs/reproduction.md: each experiment with its verdict and files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toplist.experiments import library
from toplist.experiments.experiment import Experiment, Outcome
from toplist.experiments.papers import CHAPTERS, Paper
from toplist.experiments.required_data import KINDS
from toplist.experiments.run_experiment import FIGURE, Verdict, read_verdict
from toplist.support.files import AnyPath, Unwritable, check_writable
from toplist.support.progress_bar import duration_text

REPORT = "report.html"
FOLDER = "reproduction"  # default folder of results
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


def make_results_folder(path: AnyPath, what: str = "The folder of results") -> Path:
    """Create the folder if it is missing, and check that the report can be written there; `what` names it in errors."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Unwritable(f"{what} is {str(folder)!r}, where no folder can be made ({problem}); name another.") from None
    check_writable(folder / REPORT, "The report")
    return folder


class ExperimentRecord(NamedTuple):
    """An experiment with its results."""

    name: str
    experiment: Experiment
    verdict: Verdict | None  # None if it was never run
    home: Path

    @property
    def paper(self) -> str:
        """The key of its paper."""
        return self.name.partition("/")[0]

    @property
    def played_verdict(self) -> Verdict | None:
        """The verdict if the experiment was played; None if it was never run or lacked its data."""
        lacking = self.verdict is None or self.verdict.outcome == Outcome.NEEDS_DATA
        return None if lacking else self.verdict

    @property
    def state(self) -> str:
        """The outcome in words."""
        return NEVER if self.verdict is None else str(self.verdict.outcome)

    @property
    def data_advice(self) -> str:
        """How to get the missing data set; empty if none is missing."""
        if not self.experiment.data or self.played_verdict is not None:
            return ""
        return f"Get {KINDS[self.experiment.data].how}."

    @property
    def seconds(self) -> float:
        """Seconds of playing."""
        return 0.0 if self.verdict is None else self.verdict.seconds

    def figure(self, suffix: str) -> Path | None:
        """The path of its figure with this suffix; None if it was not drawn."""
        path = (self.home / FIGURE).with_suffix(suffix)
        return path if self.played_verdict is not None and path.is_file() else None

    def claims_met(self) -> str:
        """The number of claims met, as "3 of 4"; empty if it was not played."""
        if self.played_verdict is None:
            return ""
        return (
            f"{sum(claim.outcome in GOOD for claim in self.played_verdict.claims)} of {len(self.played_verdict.claims)}"
        )

    def command(self) -> str:
        """The command that runs it again at the same size, or for the first time."""
        words = ["toplist", "reproduce", self.name]
        if self.played_verdict is not None:
            size = self.played_verdict.size
            usual = self.experiment.quick if size.quick else self.experiment.full
            words += ["--quick"] if size.quick else []
            words += ["--steps", str(size.steps)] if size.steps != usual.steps else []
            words += ["--runs", str(size.runs)] if size.runs_given or size.runs != usual.runs else []
            words += ["--seed", str(size.seed)] if size.seed else []
            words += ["--engine", "gpu"] if self.played_verdict.machine.get("gpus") else []
        words += ["--data", "FOLDER"] if self.experiment.data else []
        return shlex.join(words)


class Chapter(NamedTuple):
    """A paper and its experiments."""

    key: str
    paper: Paper
    entries: Sequence[ExperimentRecord]


def chapters(folder: Path) -> list[Chapter]:
    """All experiments, paper by paper, ordered by year."""
    entries = [
        ExperimentRecord(name, each, read_verdict(name, folder), folder / name)
        for name, each in library.library().items()
    ]
    known = list(CHAPTERS)
    keys = sorted({entry.paper for entry in entries}, key=lambda key: (known.index(key) if key in known else 99, key))
    return [
        Chapter(key, CHAPTERS.get(key, Paper("", key, "")), [entry for entry in entries if entry.paper == key])
        for key in keys
    ]


def count_states(entries: Iterable[ExperimentRecord]) -> dict[str, int]:
    """The number of experiments per state, best first; states without any are left out."""
    states = [entry.state for entry in entries]
    return {state: states.count(state) for state in (*map(str, Outcome), NEVER) if state in states}


def regret_table(verdict: Verdict) -> list[list[str]]:
    """Final regrets: a header row, then a row per part with a column per policy; empty if no curves were played.

    >>> from toplist.experiments.experiment import Size
    >>> from toplist.experiments.run_experiment import Regret
    >>> found = [Regret("K = 2", "a", 9.96, 0.04, 20), Regret("K = 2", "b", 1234.0, 5.5, 20)]
    >>> regret_table(Verdict("some", [], Size(10, 20), 1.0, regrets=found))
    [['', 'a', 'b', 'runs'], ['K = 2', '10.0 ± 0.0', '1,234.0 ± 5.5', '20']]
    """
    policies = unique_texts(regret.policy for regret in verdict.regrets)
    rows: dict[str, dict[str, str]] = {}
    for part, policy, mean, error, runs in verdict.regrets:
        rows.setdefault(part, {"runs": str(runs)})[policy] = f"{mean:,.1f} ± {error:,.1f}"
    table = [[part, *(row.get(name, "") for name in (*policies, "runs"))] for part, row in rows.items()]
    return [["", *policies, "runs"], *table] if table else []


def unique_texts(values: Iterable[str]) -> list[str]:
    """The distinct non-empty texts, in their order."""
    return list(dict.fromkeys(value for value in values if value))


def machine_text(verdict: Verdict) -> str:
    """The machine of a verdict in one line; empty if it is unknown.

    >>> from toplist.experiments.experiment import Size
    >>> facts = {"cores": 16, "processor": "CPU X", "system": "Linux", "python": "3.12", "gpus": ["GPU Y", "GPU Y"]}
    >>> machine_text(Verdict("some", [], Size(10, 20), 1.0, machine=facts))
    '2 GPU Y beside 16 cores of CPU X, Linux, Python 3.12'
    """
    facts = verdict.machine
    if not facts:
        return ""
    cores, gpus = facts.get("cores", "?"), list(facts.get("gpus", ()))
    hardware = f"{cores} core{'' if cores == 1 else 's'} of {facts.get('processor', 'a processor')}"
    if gpus:
        hardware = f"{', '.join(f'{gpus.count(name)} {name}' for name in unique_texts(gpus))} beside {hardware}"
    return f"{hardware}, {facts.get('system', 'a system')}, Python {facts.get('python', '?')}"


def total_time(entries: Iterable[ExperimentRecord]) -> str:
    """The time that these experiments took together; empty if none was played."""
    played = [entry.seconds for entry in entries if entry.played_verdict is not None]
    return duration_text(sum(played)) if played else ""


def time_text(text: str) -> str:
    """An ISO time as text for readers.

    >>> time_text("2026-11-15T19:39:06+00:00")
    '2026-11-15 19:39 UTC'
    """
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return text
