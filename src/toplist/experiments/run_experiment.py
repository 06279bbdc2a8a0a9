"""Plays one experiment, keeps its results in a folder, judges its claims and draws its figure."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import toplist
from toplist.core.compiling import fingerprint
from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.engine.result import Result
from toplist.engine.simulate import checked_threads, simulate_with_watch
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Outcome, Play, Size
from toplist.experiments.verdicts import final_regret, mean_with_error
from toplist.support.files import Unwritable, import_optional, read_arrays, replace_file, slug, write_arrays, write_text
from toplist.support.machine import processor_name
from toplist.support.progress import Progress
from toplist.support.progress_bar import steps_per_second
from toplist.support.tables import count_text

FORMAT = {"format": "toplist.Reproduction", "format_version": 1}
VERDICT, FIGURE, PICTURES = "verdict.json", "figure", (".png", ".svg")
WHAT = "The measurement"
NOTHING: Mapping[str, Any] = MappingProxyType({})


class ExperimentProgress(NamedTuple):
    """Progress of one experiment."""

    share: float  # finished share of the experiment
    earlier: float  # share finished by earlier calls
    rate: float  # steps per second; 0 while unknown


Report = Callable[[ExperimentProgress], None]


class Regret(NamedTuple):
    """Mean regret of a policy at the last step of a part, with its standard error."""

    part: str
    policy: str
    mean: float
    error: float
    runs: int


class Verdict(NamedTuple):
    """The result of an experiment.

    Parameters
    ----------
    experiment : str
        Name, as `"kveton2015/table1"`.
    claims : sequence of Claim
        The claims of the paper with their outcomes.
    size : Size
        Steps, runs and seed that were played.
    seconds : float
        Time of playing, including earlier calls.
    data, substitute : str, default ""
        The data set, and what it replaces if it is not that of the paper.
    finished : str, default ""
        UTC time of the last run played.
    version : str, default ""
        Version of toplist.
    machine : mapping, default empty
        Facts on the machine.
    parts : mapping of str to float, default empty
        Seconds of each job.
    regrets : sequence of Regret, default ()
        Regret of each policy at the last step.
    """

    experiment: str
    claims: Sequence[Claim]
    size: Size
    seconds: float
    data: str = ""
    substitute: str = ""
    finished: str = ""
    version: str = ""
    machine: Mapping[str, Any] = NOTHING
    parts: Mapping[str, float] = NOTHING
    regrets: Sequence[Regret] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst outcome among the claims."""
        order = list(Outcome)
        return max((claim.outcome for claim in self.claims), key=order.index, default=Outcome.UNDECIDED)


class Workspace(NamedTuple):
    """The folder of results, and the threads, the pool or the engine to play on."""

    folder: Path
    threads: int | None = None
    pool: Executor | None = None
    engine: str = "cpu"

    def home(self, name: str) -> Path:
        """The folder of an experiment."""
        return self.folder / name


class FileNote(NamedTuple):
    """Facts kept beside a file of results."""

    seconds: float  # including earlier calls
    finished: str
    version: str
    machine: Mapping[str, Any]


def run_experiment(
    name: str, experiment: Experiment, size: Size, data: DataSet | None, place: Workspace, report: Report
) -> Verdict:
    """Play the missing runs, judge all claims, draw the figure, and keep everything in the folder."""
    jobs = experiment.jobs(size, data)
    check_labels(name, jobs)
    home = place.home(name)
    kept = home / f"{size.steps}-steps-seed-{size.seed}"
    kept.mkdir(parents=True, exist_ok=True)
    results: dict[str, Result] = {}
    watched: dict[str, Any] = {}
    measures: dict[str, dict[str, Floats]] = {}
    notes: dict[str, FileNote] = {}
    meter = ProgressMeter(jobs, report)
    for job in jobs:
        file = kept / f"{slug(job.label)}.npz"
        begun = time.monotonic()
        try:
            if isinstance(job, Measure):
                measures[job.label] = measure_job(job, file)
            else:
                played = play_job(job, file, place, meter.within(job))
                results[job.label] = played.result
                if played.watched:
                    watched[job.label] = played.watched
        finally:  # the time of an interrupted job counts as well
            if file.exists():
                notes[job.label] = write_note(file, time.monotonic() - begun, size, place.engine)
        meter.done(job)
    found = Findings(size, results, measures, watched, data)
    claims = list(experiment.judge(found))
    draw_figure(experiment, found, home / FIGURE)
    last = max(
        notes.values(),
        key=lambda each: each.finished,
        default=FileNote(0.0, utc_now(), toplist.__version__, machine_facts()),
    )
    source, substitute = (data.name, data.substitute) if data is not None else ("", "")
    verdict = Verdict(
        name, claims, size, sum(each.seconds for each in notes.values()), source, substitute, last.finished,
        last.version, last.machine, {label: each.seconds for label, each in notes.items()}, final_regrets(results),
    )  # fmt: skip
    write_verdict(verdict, home)
    return verdict


def final_regrets(results: Mapping[str, Result]) -> list[Regret]:
    """The regret of every policy at the last step."""
    return [
        Regret(part, policy, *mean_with_error(final_regret(result, policy)), result.runs)
        for part, result in results.items()
        for policy in result.policies
    ]


def check_labels(name: str, jobs: Sequence[Play | Measure]) -> None:
    """Refuse two jobs that would share a file."""
    files = [slug(job.label).lower() for job in jobs]  # some file systems ignore case
    for job, file in zip(jobs, files, strict=True):
        if files.count(file) > 1:
            raise InvalidInput(f"{name} has two jobs {job.label!r}, but labels must differ; rename one of them.")


class ProgressMeter:
    """Turns the progress of the jobs into that of the experiment."""

    def __init__(self, jobs: Sequence[Play | Measure], report: Report) -> None:
        self._report = report
        self._total = sum(map(job_weight, jobs))
        self._before = 0  # the weight of the jobs that are done
        self._earlier = 0.0

    def within(self, job: Play) -> Callable[[Progress], None]:
        """The progress callback for the simulation of a job."""
        first: Progress | None = None
        before, earlier = self._before, self._earlier

        def report(now: Progress) -> None:
            nonlocal first
            if first is None or first.done == first.earlier:  # compiling comes before the first steps
                first = now
            part = job_weight(job) / now.total
            self._earlier = earlier + part * now.earlier
            self._send(before + part * now.done, steps_per_second(first, now))

        return report

    def done(self, job: Play | Measure) -> None:
        """Report that a job is finished."""
        self._before += job_weight(job)
        self._send(self._before, 0.0)

    def _send(self, done: float, per_second: float) -> None:
        self._report(ExperimentProgress(done / self._total, self._earlier / self._total, per_second))


def job_weight(job: Play | Measure) -> int:
    """The number of steps of a job; 1 for a measurement, whose work is unknown."""
    return job.steps * job.runs * len(job.policies) if isinstance(job, Play) else 1


def play_job(job: Play, file: Path, place: Workspace, progress: Callable[[Progress], None]) -> Any:
    """Play a simulation, continuing from its file; start again if the file is damaged or of other code or settings."""

    def go() -> Any:
        return simulate_with_watch(
            job.policies, job.world, job.users, job.steps, job.runs, job.seed, start=job.start,
            checkpoints=job.checkpoints, threads=place.threads, progress=progress, resume=file, watch=job.watch,
            pool=place.pool, engine=place.engine,
        )  # fmt: skip

    try:
        return go()
    except Unwritable:
        raise
    except InvalidInput:
        if not file.exists():
            raise
        outdated = file.with_suffix(".outdated.npz")
        file.replace(outdated)
        try:
            return go()
        except InvalidInput:  # the setting is wrong, so the old file may be right
            outdated.replace(file)
            raise
        finally:
            if outdated.exists():
                delete_note(file)
                outdated.unlink()


def measure_job(job: Measure, file: Path) -> dict[str, Floats]:
    """The kept measurement if code and inputs are unchanged; else measure again."""
    header = {"format": "toplist measurement 1", "about": job.about, "code": fingerprint(job.find)}
    if file.exists():
        try:
            found, arrays = read_arrays(file, WHAT, "an experiment")
        except InvalidInput:
            found, arrays = {}, {}
        if found == header:
            return arrays
        delete_note(file)
    arrays = job.find()
    write_arrays(file, WHAT, header, arrays)
    return arrays


def write_note(file: Path, seconds: float, size: Size, engine: str = "cpu") -> FileNote:
    """Keep beside a file of results how long it took including earlier calls, when it was finished, and on what.

    If the file is unchanged since the last note, that note is returned as it is.
    """
    stamp, before = file.stat().st_mtime_ns, 0.0
    with suppress(OSError, ValueError, TypeError, LookupError):
        kept = json.loads(note_path(file).read_text(encoding="utf-8"))
        before = float(kept["seconds"])
        if kept["written"] == stamp:
            return FileNote(*(kept[key] for key in FileNote._fields))
    found = FileNote(round(before + seconds, 3), utc_now(), toplist.__version__, machine_facts(engine))
    facts = found._asdict() | {"seed": size.seed, "written": stamp}
    write_text(note_path(file), "The description of a result", json.dumps(facts, indent=1))
    return found


def note_path(file: Path) -> Path:
    """The path of the note on a file."""
    return file.with_suffix(".json")


def delete_note(file: Path) -> None:
    """Delete the note on a file that will be replaced."""
    note_path(file).unlink(missing_ok=True)


def utc_now() -> str:
    """The current UTC time as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def machine_facts(engine: str = "cpu") -> dict[str, Any]:
    """System, processor, cores and Python of this machine, and the GPUs if they play."""
    facts = {
        "system": platform.platform(),
        "processor": processor_name(),
        "cores": checked_threads(None),
        "python": platform.python_version(),
    }
    if engine == "gpu":
        from toplist.engine.gpu.cuda_device import gpus  # noqa: PLC0415 - imports numba-cuda, if it is there

        facts["gpus"] = [device.name() for device in gpus()]
    return facts


def draw_figure(experiment: Experiment, found: Findings, path: Path) -> None:
    """Draw the figure as PNG and SVG; without matplotlib delete those of earlier calls, which may be outdated."""
    try:
        matplotlib, figures = import_optional("matplotlib", "plots"), import_optional("matplotlib.figure", "plots")
    except ImportError:
        for suffix in PICTURES:
            path.with_suffix(suffix).unlink(missing_ok=True)
        return
    figure = figures.Figure(figsize=experiment.inches, layout="constrained")
    experiment.draw(found, figure)
    with matplotlib.rc_context({"svg.hashsalt": "toplist"}):  # else the ids in an SVG are random
        for suffix, metadata in zip(PICTURES, ({}, {"Date": None}), strict=True):
            with replace_file(path.with_suffix(suffix), "The figure") as new:
                figure.savefig(new, format=suffix[1:], dpi=150, metadata=metadata)


def write_verdict(verdict: Verdict, home: Path) -> None:
    """Write `verdict.json`, from which lists and reports are made without playing."""
    content = FORMAT | {
        "experiment": verdict.experiment,
        "outcome": verdict.outcome.value,
        "claims": [claim._asdict() | {"outcome": claim.outcome.value} for claim in verdict.claims],
        "size": verdict.size._asdict(),
        "seconds": round(verdict.seconds, 1),
        "data": verdict.data,
        "substitute": verdict.substitute,
        "finished": verdict.finished or utc_now(),
        "version": verdict.version or toplist.__version__,
        "machine": dict(verdict.machine or machine_facts()),
        "parts": {label: round(seconds, 1) for label, seconds in verdict.parts.items()},
        "regrets": [regret._asdict() for regret in verdict.regrets],
    }
    write_text(home / VERDICT, "The verdict", json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_verdict(name: str, folder: Path) -> Verdict | None:
    """The last verdict of an experiment; None if it was never played, or the file is damaged."""
    try:
        kept = json.loads((folder / name / VERDICT).read_text(encoding="utf-8"))
        if {key: kept[key] for key in FORMAT} != FORMAT:
            return None
        claims = [
            Claim(str(claim["text"]), Outcome(claim["outcome"]), str(claim["number"]), str(claim["remark"]))
            for claim in kept["claims"]
        ]
        data, substitute, finished, version = (str(kept[key]) for key in ("data", "substitute", "finished", "version"))
        return Verdict(
            name, claims, size_from(kept["size"]),
            float(kept["seconds"]), data, substitute, finished, version, dict(kept["machine"]),
            {str(label): float(seconds) for label, seconds in kept["parts"].items()},
            [Regret(**regret) for regret in kept["regrets"]],
        )  # fmt: skip
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def size_from(kept: Mapping[str, Any]) -> Size:
    """The size in a verdict; those of earlier versions do not say whether the runs were given."""
    steps, runs, seed = (int(kept[name]) for name in ("steps", "runs", "seed"))
    return Size(steps, runs, seed, bool(kept["quick"]), bool(kept.get("runs_given", False)))


def size_text(size: Size) -> str:
    """A size as text.

    >>> size_text(Size(100_000, 20)), size_text(Size(50, 1, seed=3, quick=True))
    ('100,000 steps, 20 runs, seed 0', 'quick: 50 steps, 1 run, seed 3')
    """
    text = f"{count_text(size.steps, 'step')}, {count_text(size.runs, 'run')}, seed {size.seed}"
    return f"quick: {text}" if size.quick else text
