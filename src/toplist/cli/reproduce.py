"""`toplist reproduce`: every table and figure of the five papers, with a verdict."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.cli.exits import Exit, complain
from toplist.cli.parsing import add_command, whole
from toplist.engine.bar import Bars, clock

if TYPE_CHECKING:
    from toplist.experiments.experiment import Experiment, Size
    from toplist.experiments.running import Verdict, Workplace

FOLDER = "reproduction"
EXAMPLES = """examples:
  toplist reproduce                          what there is, and how it came out
  toplist reproduce kveton2015/table1
  toplist reproduce kveton2015 --quick
  toplist reproduce --all --data path/to/data

What was played is kept: the same command goes on after an interruption, and
shows the verdicts of what is finished. A report of all papers is written to
report.html in the same folder.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "reproduce", run, "play the papers' experiments again, and judge them", EXAMPLES)
    parser.add_argument(
        "names", nargs="*", metavar="EXPERIMENT",
        help="as kveton2015/table1, or all of a paper, as kveton2015; without any, list them all with their state",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="all experiments (about an hour on two cores)")
    parser.add_argument(
        "--quick", action="store_true",
        help="smaller sizes with the same tests; what cannot be decided at that size says so",
    )  # fmt: skip
    parser.add_argument("--steps", type=whole, metavar="N", help="lists of each run (default: the paper's)")
    parser.add_argument("--runs", type=whole, metavar="N", help="runs of each policy (default: the paper's)")
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="equal seeds give equal numbers (default: %(default)s)"
    )
    parser.add_argument("--data", metavar="FOLDER", help="where the data sets are, each in a folder of its own")
    parser.add_argument("--jobs", type=whole, metavar="N", help="threads, or workers of ray (default: one per core)")
    parser.add_argument(
        "--engine", choices=("threads", "ray"), default="threads",
        help="where runs are played: on threads of this process, or on a Ray cluster, with the same results",
    )  # fmt: skip
    parser.add_argument(
        "--address", metavar="ADDRESS", help="of the Ray cluster, as auto (default: a local one, for this command)"
    )
    parser.add_argument(
        "--results", default=FOLDER, metavar="FOLDER", help="where everything is kept (default: %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress and no verdicts, only errors")


def run(arguments: Namespace) -> int:
    """Play what is asked for; without anything, list what there is."""
    from toplist.experiments.data import check_folder
    from toplist.experiments.library import chosen, library
    from toplist.experiments.running import Workplace
    from toplist.problem import InvalidInput

    if arguments.all and arguments.names:
        raise InvalidInput(f"--all and {arguments.names[0]!r} are both given; leave one out.")
    folder = Path(arguments.results)
    data = check_folder(arguments.data)
    if not arguments.all and not arguments.names:
        for line in listing(library(), folder):
            print(line)
        return Exit.FINE
    wanted = library() if arguments.all else chosen(arguments.names)
    writable(folder)
    with pool_of(arguments) as pool, Bars(sys.stderr, shown=not arguments.quiet) as bars:
        verdicts = play_all(wanted, arguments, data, Workplace(folder, arguments.jobs, pool), bars)
    write_report(folder, arguments.quiet)
    if not arguments.quiet:
        print(counts(verdicts))
    return Exit.FINE


def writable(folder: Path) -> None:
    """Make the folder, or refuse before the first step."""
    from toplist.files import Unwritable, check_writable

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        what = f"--results is {str(folder)!r}, where no folder can be made ({problem})"
        raise Unwritable(f"{what}; name another.") from None
    check_writable(folder / "report.html", "The report")


def pool_of(arguments: Namespace) -> Any:
    """The workers to play on; None for threads of this process."""
    from toplist.problem import InvalidInput

    if arguments.engine == "ray":
        from toplist.engine.ray_pool import RayPool

        return RayPool(arguments.address, arguments.jobs)
    if arguments.address is not None:
        raise InvalidInput("--address names a Ray cluster; add --engine ray.")
    return nullcontext()


def size_of(experiment: Experiment, arguments: Namespace) -> Size:
    """How large to play it."""
    from toplist.experiments.experiment import Size

    usual = experiment.quick if arguments.quick else experiment.full
    steps = usual.steps if arguments.steps is None else arguments.steps
    runs = usual.runs if arguments.runs is None else arguments.runs
    return Size(steps, runs, arguments.seed, arguments.quick)


def play_all(
    wanted: dict[str, Experiment], arguments: Namespace, folder: Path | None, place: Workplace, bars: Bars
) -> list[Verdict]:
    """One experiment after the other; each is printed as it comes out."""
    from toplist.experiments import data as needed
    from toplist.experiments.experiment import Claim, Data, Outcome
    from toplist.experiments.running import Verdict, run, write_verdict

    begun, total = time.monotonic(), sum(experiment.seconds for experiment in wanted.values())
    before, verdicts = 0.0, []
    found: dict[str, Data | None] = {}
    for name, experiment in wanted.items():

        def report(share: float, rate: float, name: str = name, seconds: float = experiment.seconds) -> None:
            everything = (before + share * seconds) / total  # noqa: B023  read while this experiment is at work
            elapsed = time.monotonic() - begun
            left = elapsed * (1.0 - everything) / everything if everything > 0.01 else float("inf")
            bars.tell(name, share, everything, rate, left)

        report(0.0, 0.0)
        size = size_of(experiment, arguments)
        if experiment.data and experiment.data not in found:
            found[experiment.data] = needed.find(experiment.data, folder)
        data = found.get(experiment.data)
        if experiment.data and data is None:
            how = f"get {needed.KINDS[experiment.data].how}"
            verdict = Verdict(name, [Claim(experiment.title, Outcome.NEEDS_DATA, how)], size, 0.0)
            home = place.home(name)
            home.mkdir(parents=True, exist_ok=True)
            write_verdict(verdict, home)
        else:
            verdict = run(name, experiment, size, data, place, report)
        before += experiment.seconds
        verdicts.append(verdict)
        if not arguments.quiet:
            bars.clear()
            print("\n".join(told(verdict)), flush=True)
    return verdicts


def told(verdict: Verdict) -> list[str]:
    """What came out of an experiment, claim by claim."""
    head = f"{verdict.experiment}: {verdict.outcome} ({clock(verdict.seconds)})"
    source = [f"  on {verdict.data}"] if verdict.data else []
    lines = []
    for claim in verdict.claims:
        lines.append(f"  {claim.outcome}: {claim.text}; {claim.number}")
        if claim.remark:
            lines.append(f"    {claim.remark}")
    return [head, *source, *lines]


def listing(experiments: dict[str, Experiment], folder: Path) -> list[str]:
    """All experiments, and what came out of each the last time."""
    from toplist.experiments.data import KINDS
    from toplist.experiments.experiment import Outcome
    from toplist.experiments.running import read_verdict
    from toplist.tables import aligned

    rows = [("experiment", "state", "what it is")]
    missing: dict[str, str] = {}
    for name, experiment in experiments.items():
        verdict = read_verdict(name, folder)
        state = "never run" if verdict is None else str(verdict.outcome)
        if verdict is not None and verdict.size.quick and verdict.outcome != Outcome.NEEDS_DATA:
            state += " (quick)"
        if experiment.data and (verdict is None or verdict.outcome == Outcome.NEEDS_DATA):
            missing[experiment.data] = KINDS[experiment.data].how
            state = f"needs data: {experiment.data}" if verdict is not None else f"never run; needs {experiment.data}"
        rows.append((name, state, experiment.title))
    lines = aligned(list(zip(*rows, strict=True)), left=(0, 1, 2))
    return lines + [f"{kind}: get {how}, and name its folder with --data" for kind, how in missing.items()]


def counts(verdicts: list[Verdict]) -> str:
    """How many experiments came out how."""
    from toplist.experiments.experiment import Outcome

    tally = {outcome: sum(verdict.outcome == outcome for verdict in verdicts) for outcome in Outcome}
    return ", ".join(f"{count} {outcome}" for outcome, count in tally.items() if count)


def write_report(folder: Path, quiet: bool) -> None:
    """The report of everything in the folder."""
    from toplist.experiments.report import write

    path = write(folder)
    if not quiet:
        complain(f"wrote {path}")
