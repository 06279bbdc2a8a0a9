"""Plays an experiment, keeps what was played, and judges it."""

from __future__ import annotations

import json
import platform
import re
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
from toplist.engine.scheduler import Progress
from toplist.engine.simulate import checked_threads, simulate_with_watch
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Measure, Outcome, Play, Size
from toplist.experiments.verdicts import final, measured
from toplist.support.files import Unwritable, import_optional, read_arrays, replace_file, slug, write_arrays, write_text
from toplist.support.progress_bar import steps_per_second
from toplist.support.tables import count_text

FORMAT = {"format": "toplist.Reproduction", "format_version": 1}
VERDICT, FIGURE, PICTURES = "verdict.json", "figure", (".png", ".svg")
WHAT = "What was measured"
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Standing(NamedTuple):
    """How far an experiment is."""

    share: float  # that is done
    earlier: float  # of that, what earlier calls had done
    rate: float  # steps per second; 0 as long as nobody knows


Report = Callable[[Standing], None]


class Regret(NamedTuple):
    """What a policy has lost by the last step of a part."""

    part: str
    policy: str
    mean: float
    error: float
    runs: int


class Verdict(NamedTuple):
    """What came out of an experiment."""

    experiment: str
    claims: Sequence[Claim]
    size: Size
    seconds: float  # of playing, those of earlier calls included
    data: str = ""
    substitute: str = ""
    finished: str = ""  # when the last of it was played, in UTC
    version: str = ""  # of toplist
    machine: Mapping[str, Any] = NOTHING
    parts: Mapping[str, float] = NOTHING  # seconds of each job
    regrets: Sequence[Regret] = ()  # where the curves end

    @property
    def outcome(self) -> Outcome:
        """The worst of its claims."""
        order = list(Outcome)
        return max((claim.outcome for claim in self.claims), key=order.index, default=Outcome.UNDECIDED)


class Workplace(NamedTuple):
    """Where experiments are played and kept."""

    folder: Path
    threads: int | None = None
    pool: Executor | None = None

    def home(self, name: str) -> Path:
        """The folder of an experiment."""
        return self.folder / name


class Note(NamedTuple):
    """What is written down beside a file of something played or measured."""

    seconds: float  # calls before the last one included
    finished: str
    version: str
    machine: Mapping[str, Any]


def run(name: str, experiment: Experiment, size: Size, data: Data | None, place: Workplace, report: Report) -> Verdict:
    """Play what is not played yet, judge everything, draw the figure, and keep all of it."""
    jobs = experiment.jobs(size, data)
    check_labels(name, jobs)
    home = place.home(name)
    kept = home / f"{size.steps}-steps-seed-{size.seed}"
    kept.mkdir(parents=True, exist_ok=True)
    results: dict[str, Result] = {}
    watched: dict[str, Any] = {}
    measures: dict[str, dict[str, Floats]] = {}
    notes: dict[str, Note] = {}
    meter = Meter(jobs, report)
    for job in jobs:
        file = kept / f"{slug(job.label)}.npz"
        begun = time.monotonic()
        try:
            if isinstance(job, Measure):
                measures[job.label] = measure(job, file)
            else:
                played = play(job, file, place, meter.within(job))
                results[job.label] = played.result
                if played.watched:
                    watched[job.label] = played.watched
        finally:  # an interrupted job has taken its time too
            if file.exists():
                notes[job.label] = note(file, time.monotonic() - begun, size)
        meter.done(job)
    found = Found(size, results, measures, watched, data)
    claims = list(experiment.judge(found))
    draw(experiment, found, home / FIGURE)
    last = max(notes.values(), key=lambda each: each.finished, default=Note(0.0, now(), toplist.__version__, machine()))
    source, substitute = (data.name, data.substitute) if data is not None else ("", "")
    verdict = Verdict(
        name, claims, size, sum(each.seconds for each in notes.values()), source, substitute, last.finished,
        last.version, last.machine, {label: each.seconds for label, each in notes.items()}, regrets(results),
    )  # fmt: skip
    write_verdict(verdict, home)
    return verdict


def regrets(results: Mapping[str, Result]) -> list[Regret]:
    """Where all curves end."""
    return [
        Regret(part, policy, *measured(final(result, policy)), result.runs)
        for part, result in results.items()
        for policy in result.policies
    ]


def check_labels(name: str, jobs: Sequence[Play | Measure]) -> None:
    """Refuse two jobs that would share a file."""
    files = [slug(job.label).lower() for job in jobs]  # some systems do not tell A from a
    for job, file in zip(jobs, files, strict=True):
        if files.count(file) > 1:
            raise InvalidInput(f"{name} has two jobs {job.label!r}, but labels tell jobs apart; name one otherwise.")


class Meter:
    """Makes the progress of an experiment out of that of its jobs."""

    def __init__(self, jobs: Sequence[Play | Measure], report: Report) -> None:
        self._report = report
        self._total = sum(map(weight, jobs))
        self._before = 0  # the weight of the jobs that are done
        self._earlier = 0.0

    def within(self, job: Play) -> Callable[[Progress], None]:
        """What a simulation tells its progress to."""
        first: Progress | None = None
        before, earlier = self._before, self._earlier

        def tell(now: Progress) -> None:
            nonlocal first
            if first is None or first.done == first.earlier:  # before the first steps there was compiling
                first = now
            part = weight(job) / now.total
            self._earlier = earlier + part * now.earlier
            self._tell(before + part * now.done, steps_per_second(first, now))

        return tell

    def done(self, job: Play | Measure) -> None:
        """Tell that a job is at its end."""
        self._before += weight(job)
        self._tell(self._before, 0.0)

    def _tell(self, done: float, per_second: float) -> None:
        self._report(Standing(done / self._total, self._earlier / self._total, per_second))


def weight(job: Play | Measure) -> int:
    """How much there is to do: steps; nobody knows of a measurement."""
    return job.steps * job.runs * len(job.policies) if isinstance(job, Play) else 1


def play(job: Play, file: Path, place: Workplace, progress: Callable[[Progress], None]) -> Any:
    """One simulation, from where it was left; anew, where what is kept is damaged, of other code or another setting."""

    def go() -> Any:
        return simulate_with_watch(
            job.policies, job.world, job.users, job.steps, job.runs, job.seed, start=job.start,
            checkpoints=job.checkpoints, threads=place.threads, progress=progress, resume=file, watch=job.watch,
            pool=place.pool,
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
        except InvalidInput:  # so it was the setting that is wrong, and what was kept may be right
            outdated.replace(file)
            raise
        finally:
            if outdated.exists():
                forget(file)
                outdated.unlink()


def measure(job: Measure, file: Path) -> dict[str, Floats]:
    """What was measured before, if it is the same; else anew."""
    header = {"format": "toplist measurement 1", "about": job.about, "code": fingerprint(job.find)}
    if file.exists():
        try:
            found, arrays = read_arrays(file, WHAT, "an experiment")
        except InvalidInput:
            found, arrays = {}, {}
        if found == header:
            return arrays
        forget(file)
    arrays = job.find()
    write_arrays(file, WHAT, header, arrays)
    return arrays


def note(file: Path, seconds: float, size: Size) -> Note:
    """Write down beside a file how long it took, calls before this one included, when and on what.

    A call that found everything there and wrote nothing adds nothing.
    """
    stamp, before = file.stat().st_mtime_ns, 0.0
    with suppress(OSError, ValueError, TypeError, LookupError):
        told = json.loads(beside(file).read_text(encoding="utf-8"))
        before = float(told["seconds"])
        if told["written"] == stamp:
            return Note(*(told[key] for key in Note._fields))
    found = Note(round(before + seconds, 3), now(), toplist.__version__, machine())
    facts = found._asdict() | {"seed": size.seed, "written": stamp}
    write_text(beside(file), "The description of a result", json.dumps(facts, indent=1))
    return found


def beside(file: Path) -> Path:
    """Where the note on a file is."""
    return file.with_suffix(".json")


def forget(file: Path) -> None:
    """Drop the note on a file that is made anew."""
    beside(file).unlink(missing_ok=True)


def now() -> str:
    """The moment, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def machine() -> dict[str, Any]:
    """What it is played on."""
    return {
        "system": platform.platform(),
        "processor": processor(),
        "cores": checked_threads(None),
        "python": platform.python_version(),
    }


def processor() -> str:
    """The processor's own name where the system tells it, else its kind."""
    with suppress(OSError):
        told = re.search(r"^model name\s*: *(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if told:
            return " ".join(told[1].split())
    return platform.machine()


def draw(experiment: Experiment, found: Found, path: Path) -> None:
    """The figure, as PNG and SVG; without matplotlib none, not even that of an earlier call."""
    try:
        matplotlib, figures = import_optional("matplotlib", "plots"), import_optional("matplotlib.figure", "plots")
    except ImportError:
        for suffix in PICTURES:
            path.with_suffix(suffix).unlink(missing_ok=True)
        return
    figure = figures.Figure(figsize=experiment.inches, layout="constrained")
    experiment.draw(found, figure)
    with matplotlib.rc_context({"svg.hashsalt": "toplist"}):  # else identifiers in an SVG are drawn at random
        for suffix, metadata in zip(PICTURES, ({}, {"Date": None}), strict=True):
            with replace_file(path.with_suffix(suffix), "The figure") as new:
                figure.savefig(new, format=suffix[1:], dpi=150, metadata=metadata)


def write_verdict(verdict: Verdict, home: Path) -> None:
    """Keep what came out, so that it can be listed and reported without playing anything."""
    content = FORMAT | {
        "experiment": verdict.experiment,
        "outcome": verdict.outcome.value,
        "claims": [claim._asdict() | {"outcome": claim.outcome.value} for claim in verdict.claims],
        "size": verdict.size._asdict(),
        "seconds": round(verdict.seconds, 1),
        "data": verdict.data,
        "substitute": verdict.substitute,
        "finished": verdict.finished or now(),
        "version": verdict.version or toplist.__version__,
        "machine": dict(verdict.machine or machine()),
        "parts": {label: round(seconds, 1) for label, seconds in verdict.parts.items()},
        "regrets": [regret._asdict() for regret in verdict.regrets],
    }
    write_text(home / VERDICT, "The verdict", json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_verdict(name: str, folder: Path) -> Verdict | None:
    """What came out the last time; None where it was never played, or the file is damaged."""
    try:
        kept = json.loads((folder / name / VERDICT).read_text(encoding="utf-8"))
        if {key: kept[key] for key in FORMAT} != FORMAT:
            return None
        claims = [
            Claim(str(claim["text"]), Outcome(claim["outcome"]), str(claim["number"]), str(claim["remark"]))
            for claim in kept["claims"]
        ]
        size = kept["size"]
        data, substitute, finished, version = (str(kept[key]) for key in ("data", "substitute", "finished", "version"))
        return Verdict(
            name, claims, Size(int(size["steps"]), int(size["runs"]), int(size["seed"]), bool(size["quick"])),
            float(kept["seconds"]), data, substitute, finished, version, dict(kept["machine"]),
            {str(label): float(seconds) for label, seconds in kept["parts"].items()},
            [Regret(**regret) for regret in kept["regrets"]],
        )  # fmt: skip
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def spelled(size: Size) -> str:
    """A size in words.

    >>> spelled(Size(100_000, 20)), spelled(Size(50, 1, seed=3, quick=True))
    ('100,000 steps, 20 runs, seed 0', 'quick: 50 steps, 1 run, seed 3')
    """
    text = f"{count_text(size.steps, 'step')}, {count_text(size.runs, 'run')}, seed {size.seed}"
    return f"quick: {text}" if size.quick else text
