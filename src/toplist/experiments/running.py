"""Plays an experiment, keeps what was played, and judges it."""

from __future__ import annotations

import json
import platform
import re
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import toplist
from toplist.compiled import fingerprint
from toplist.engine.crew import Progress
from toplist.engine.result import Result
from toplist.engine.runs import checked_threads, simulate_and_watch
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Measure, Outcome, Play, Size
from toplist.files import optional, read_arrays, replacing, write_arrays, write_text
from toplist.problem import InvalidInput
from toplist.slate import Floats

FORMAT = {"format": "toplist.Reproduction", "format_version": 1}
VERDICT, PICTURES = "verdict.json", (".png", ".svg")
WHAT = "What was measured"
Report = Callable[[float, float], None]  # told the share of an experiment that is done, and the steps per second


class Verdict(NamedTuple):
    """What came out of an experiment."""

    experiment: str
    claims: Sequence[Claim]
    size: Size
    seconds: float  # of playing, those of earlier calls included
    data: str = ""
    substitute: str = ""
    finished: str = ""  # when, in UTC

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


def run(name: str, experiment: Experiment, size: Size, data: Data | None, place: Workplace, report: Report) -> Verdict:
    """Play what is not played yet, judge everything, draw the figure, and keep all of it."""
    home = place.home(name)
    kept = home / f"{size.steps}-steps-seed-{size.seed}"
    kept.mkdir(parents=True, exist_ok=True)
    jobs = experiment.jobs(size, data)
    weights = [job.steps * job.runs * len(job.policies) if isinstance(job, Play) else 1 for job in jobs]
    results: dict[str, Result] = {}
    watched: dict[str, Any] = {}
    measures: dict[str, dict[str, Floats]] = {}
    done, seconds = 0, 0.0
    for job, weight in zip(jobs, weights, strict=True):

        def within(now: Progress, before: int = done, weight: int = weight) -> None:
            rate = (now.done - now.earlier) / now.seconds if now.seconds > 0 else 0.0
            report((before + weight * now.done / now.total) / sum(weights), rate)

        file = kept / f"{slug(job.label)}.npz"
        begun = time.monotonic()
        if isinstance(job, Measure):
            measures[job.label] = measure(job, file)
        else:
            played = play(job, file, place, within)
            results[job.label] = played.result
            if played.watched:
                watched[job.label] = played.watched
        seconds += note_time(file, time.monotonic() - begun, size)
        done += weight
        report(done / sum(weights), 0.0)
    found = Found(size, results, measures, watched, data)
    claims = list(experiment.judge(found))
    draw(experiment, found, home / "figure")
    source, substitute = (data.name, data.substitute) if data is not None else ("", "")
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    verdict = Verdict(name, claims, size, seconds, source, substitute, moment)
    write_verdict(verdict, home)
    return verdict


def play(job: Play, file: Path, place: Workplace, progress: Callable[[Progress], None]) -> Any:
    """One simulation, from where it was left; anew, where what is kept is of other code or another setting."""

    def go() -> Any:
        return simulate_and_watch(
            job.policies, job.world, job.users, job.steps, job.runs, job.seed, start=job.start,
            checkpoints=job.checkpoints, threads=place.threads, progress=progress, resume=file, watch=job.watch,
            pool=place.pool,
        )  # fmt: skip

    try:
        return go()
    except InvalidInput:
        if not file.exists():
            raise
        outdated = file.with_suffix(".outdated.npz")
        file.replace(outdated)  # a wrong setting fails again; then what was kept is still there
        try:
            again = go()
        except InvalidInput:
            outdated.replace(file)
            raise
        outdated.unlink()
        return again


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
    arrays = job.find()
    write_arrays(file, WHAT, header, arrays)
    return arrays


def note_time(file: Path, seconds: float, size: Size) -> float:
    """Write down beside a file how long it took, calls before this one included, and on what; the seconds in all.

    A call that finds everything played adds nothing.
    """
    beside = file.with_suffix(".json")
    stamp = file.stat().st_mtime_ns if file.exists() else 0
    earlier: dict[str, Any] = {}
    if beside.exists():
        try:
            earlier = json.loads(beside.read_text(encoding="utf-8"))
        except ValueError:
            earlier = {}
    total = float(earlier.get("seconds", 0.0))
    if earlier.get("written") != stamp:
        total += seconds
        facts = {"version": toplist.__version__, "seed": size.seed, "machine": machine(), "seconds": round(total, 3)}
        write_text(beside, "The description of a result", json.dumps(facts | {"written": stamp}, indent=1))
    return total


def machine() -> dict[str, Any]:
    """What it was played on."""
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": checked_threads(None),
        "python": platform.python_version(),
    }


def draw(experiment: Experiment, found: Found, path: Path) -> None:
    """The figure, as PNG and SVG; nothing without matplotlib."""
    try:
        figures = optional("matplotlib.figure", "plots")
    except ImportError:
        return
    figure = figures.Figure(figsize=experiment.inches, layout="constrained")
    experiment.draw(found, figure)
    for suffix in PICTURES:
        with replacing(path.with_suffix(suffix), "The figure") as new:
            figure.savefig(new, format=suffix[1:], dpi=150)


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
        "finished": verdict.finished,
        "version": toplist.__version__,
        "machine": machine(),
    }
    write_text(home / VERDICT, "The verdict", json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_verdict(name: str, folder: Path) -> Verdict | None:
    """What came out the last time; None where it was never played, or the file is damaged."""
    file = folder / name / VERDICT
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        claims = [Claim(**claim | {"outcome": Outcome(claim["outcome"])}) for claim in kept["claims"]]
        more = (kept[key] for key in ("seconds", "data", "substitute", "finished"))
        return Verdict(kept["experiment"], claims, Size(**kept["size"]), *more)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def slug(label: str) -> str:
    """A label as the name of a file: readable, and no other label's.

    >>> slug("L=16 K=2"), slug("a")
    ('L-16-K-2-e2ccc7ab', 'a')
    """
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", label)[:60].strip("-.")
    return readable if readable == label else f"{readable}-{zlib.crc32(label.encode()):08x}"
