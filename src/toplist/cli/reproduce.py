"""`toplist reproduce`: every table and figure of the five papers, with a verdict."""

from __future__ import annotations

import sys
import traceback
from argparse import Namespace
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.cli.exit_codes import Exit, complain, judged
from toplist.cli.parser import add_command, whole
from toplist.support.progress_bar import TwoProgressBars, duration_text

if TYPE_CHECKING:
    from toplist.experiments.experiment import Experiment, Size
    from toplist.experiments.remaining_time import Outlook
    from toplist.experiments.required_data import Shelf
    from toplist.experiments.run_experiment import Verdict, Workplace

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
    parser.add_argument("--all", action="store_true", help="all experiments (about 50 minutes on two cores)")
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
    from toplist.experiments.library import chosen, library
    from toplist.experiments.report import write
    from toplist.experiments.required_data import check_folder
    from toplist.experiments.run_experiment import Workplace

    check(arguments)
    folder, data = Path(arguments.results), check_folder(arguments.data)
    if not arguments.all and not arguments.names:
        for line in listing(library(), folder, data):
            print(line)
        return Exit.FINE
    wanted = library() if arguments.all else chosen(arguments.names)
    writable(folder)
    if not arguments.quiet:
        tell_without_figures()
    try:
        with pool_of(arguments) as pool, TwoProgressBars(sys.stderr, shown=not arguments.quiet) as bars:
            code = play_all(wanted, arguments, data, Workplace(folder, arguments.jobs, pool), bars)
    except BaseException:
        with suppress(Exception):  # what is finished has its report; what went wrong is more important
            write(folder)
        raise
    path = write(folder)
    if not arguments.quiet:
        complain(f"wrote {path}")
    return code


def check(arguments: Namespace) -> None:
    """Refuse what makes no sense, before the first step."""
    from toplist.core.problem import InvalidInput, checked_seed, whole

    sized = {flag: getattr(arguments, flag) for flag in ("steps", "runs", "jobs")}
    for flag, given in sized.items():
        if given is not None:
            whole(f"--{flag}", given, 1, "or leave it out")
    checked_seed(arguments.seed)
    if arguments.all and arguments.names:
        raise InvalidInput(f"--all and {arguments.names[0]!r} are both given; leave one out.")
    if not arguments.all and not arguments.names:
        playing = [f"--{flag}" for flag, given in ({"quick": arguments.quick or None} | sized).items() if given]
        if playing:
            raise InvalidInput(f"{playing[0]} says how to play, but not what; name experiments, or add --all.")
    if arguments.engine != "ray" and arguments.address is not None:
        raise InvalidInput("--address names a Ray cluster; add --engine ray.")
    if arguments.address is not None and arguments.jobs is not None:
        raise InvalidInput("--jobs is for workers of one's own, but a cluster at --address has its own; leave one out.")


def writable(folder: Path) -> None:
    """Make the folder, or refuse before the first step."""
    from toplist.support.files import Unwritable, check_writable

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        what = f"--results is {str(folder)!r}, where no folder can be made ({problem})"
        raise Unwritable(f"{what}; name another.") from None
    check_writable(folder / "report.html", "The report")


def tell_without_figures() -> None:
    """Say that there will be none, where that is so."""
    from toplist.support.files import import_optional

    try:
        import_optional("matplotlib.figure", "plots")
    except ImportError as problem:
        complain(f"no figures are drawn: {problem}")


def pool_of(arguments: Namespace) -> Any:
    """The workers to play on; None for threads of this process."""
    if arguments.engine == "ray":
        from toplist.engine.ray_pool import RayPool

        return RayPool(arguments.address, arguments.jobs)
    return nullcontext()


def size_of(experiment: Experiment, arguments: Namespace) -> Size:
    """How large to play it."""
    from toplist.experiments.experiment import Size

    usual = experiment.quick if arguments.quick else experiment.full
    steps = usual.steps if arguments.steps is None else arguments.steps
    runs = usual.runs if arguments.runs is None else arguments.runs
    return Size(steps, runs, arguments.seed, arguments.quick)


def play_all(
    wanted: dict[str, Experiment], arguments: Namespace, folder: Path | None, place: Workplace, bars: TwoProgressBars
) -> Exit:
    """One experiment after the other; each is printed as it comes out. One that fails does not stop the others."""
    from toplist.experiments.required_data import Shelf

    sizes = {name: size_of(experiment, arguments) for name, experiment in wanted.items()}
    outlook = outlook_on(wanted, sizes, folder, place)
    data, verdicts, code = Shelf(folder), [], Exit.FINE
    for name, experiment in wanted.items():
        try:
            verdict, lines = play_one(name, experiment, sizes[name], data, place, bars, outlook)
        except Exception as error:
            if len(wanted) == 1 or is_everybodys(error):
                raise
            bars.clear()
            if getattr(arguments, "traceback", False):
                traceback.print_exception(error)
            worse, message = judged(error)
            complain(f"{name}: {message}")
            code = max(code, worse)
            continue
        verdicts.append(verdict)
        if not arguments.quiet:
            bars.clear()
            print("\n".join(lines), flush=True)
    if not arguments.quiet:
        bars.clear()
        print(counts(verdicts, len(wanted) - len(verdicts)))
    return code


def is_everybodys(error: Exception) -> bool:
    """Whether the next experiment would fail as well: a full disk, a missing right or module."""
    from toplist.support.files import Unwritable

    return isinstance(error, OSError | MemoryError | ImportError | Unwritable)


def outlook_on(wanted: dict[str, Experiment], sizes: dict[str, Size], folder: Path | None, place: Workplace) -> Outlook:
    """How long everything is expected to take; what is there at this size already takes next to nothing."""
    from toplist.experiments.remaining_time import Outlook, expected
    from toplist.experiments.required_data import located
    from toplist.experiments.run_experiment import read_verdict

    seconds = {}
    for name, experiment in wanted.items():
        kept = read_verdict(name, place.folder)
        there = kept is not None and kept.size == sizes[name]
        lacking = bool(experiment.data) and located(experiment.data, folder) is None
        seconds[name] = expected(experiment, sizes[name], there or lacking)
    return Outlook(seconds)


def play_one(
    name: str,
    experiment: Experiment,
    size: Size,
    data: Shelf,
    place: Workplace,
    bars: TwoProgressBars,
    outlook: Outlook,
) -> tuple[Verdict, list[str]]:
    """What comes out of an experiment, and the lines that tell it."""
    from toplist.experiments.run_experiment import Standing, run

    last = Standing(0.0, 0.0, 0.0)

    def report(now: Standing) -> None:
        nonlocal last
        last = now
        ahead = outlook.at(name, now)
        bars.draw(name, now.share, ahead.share, now.rate, ahead.left)

    report(last)
    try:
        found = data.of(experiment.data) if experiment.data else None
        if experiment.data and found is None:
            return without_data(name, experiment, size, place)
        verdict = run(name, experiment, size, found, place, report)
        return verdict, told(verdict)
    finally:
        outlook.finish(name, last)


def without_data(name: str, experiment: Experiment, size: Size, place: Workplace) -> tuple[Verdict, list[str]]:
    """What to say of an experiment whose data are not there; what came out when they were is not lost."""
    from toplist.experiments.experiment import Claim, Outcome
    from toplist.experiments.required_data import KINDS
    from toplist.experiments.run_experiment import Verdict, read_verdict, write_verdict

    how = f"get {KINDS[experiment.data].how}"
    earlier = read_verdict(name, place.folder)
    if earlier is not None and earlier.outcome != Outcome.NEEDS_DATA:
        return earlier, [*told(earlier), f"  kept from {earlier.finished}; to play it again, {how}, and name --data"]
    verdict = Verdict(name, [Claim(experiment.title, Outcome.NEEDS_DATA, how)], size, 0.0)
    home = place.home(name)
    home.mkdir(parents=True, exist_ok=True)
    write_verdict(verdict, home)
    return verdict, told(verdict)


def told(verdict: Verdict) -> list[str]:
    """What came out of an experiment, claim by claim."""
    from toplist.experiments.experiment import Outcome
    from toplist.experiments.run_experiment import spelled

    lines = [f"{verdict.experiment}: {verdict.outcome}"]
    if verdict.outcome != Outcome.NEEDS_DATA:
        lines[0] += f" ({spelled(verdict.size)}; {duration_text(verdict.seconds)})"
    lines += [f"  on {verdict.data}"] if verdict.data else []
    for claim in verdict.claims:
        lines.append(f"  {claim.outcome}: {claim.text}; {claim.number}")
        lines += [f"    {claim.remark}"] if claim.remark else []
    return lines


def listing(experiments: dict[str, Experiment], folder: Path, data: Path | None) -> list[str]:
    """All experiments, and what came out of each the last time."""
    from toplist.experiments.experiment import Outcome
    from toplist.experiments.required_data import KINDS, located
    from toplist.experiments.run_experiment import read_verdict
    from toplist.support.tables import aligned_lines

    rows = [("experiment", "state", "what it is")]
    missing: dict[str, str] = {}
    for name, experiment in experiments.items():
        verdict = read_verdict(name, folder)
        played = verdict is not None and verdict.outcome != Outcome.NEEDS_DATA
        state = "never run"
        if verdict is not None and played:
            state = f"{verdict.outcome}{' (quick)' if verdict.size.quick else ''}"
        elif experiment.data and located(experiment.data, data) is None:
            missing[experiment.data] = KINDS[experiment.data].how
            state = f"needs data: {experiment.data}"
        rows.append((name, state, experiment.title))
    lines = aligned_lines(list(zip(*rows, strict=True)), left=(0, 1, 2))
    return lines + [f"{kind}: get {how}, and name its folder with --data" for kind, how in missing.items()]


def counts(verdicts: list[Verdict], failed: int) -> str:
    """How many experiments came out how.

    >>> counts([], 2)
    '2 failed'
    """
    from toplist.experiments.experiment import Outcome

    tally = {str(outcome): sum(verdict.outcome == outcome for verdict in verdicts) for outcome in Outcome}
    return ", ".join(f"{count} {outcome}" for outcome, count in (tally | {"failed": failed}).items() if count)
