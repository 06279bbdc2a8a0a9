"""`toplist reproduce`: plays the experiments of the papers again, and judges their claims."""

from __future__ import annotations

import sys
import traceback
from argparse import Namespace
from collections.abc import Collection
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.cli.exit_codes import Exit, exit_code_and_message, print_message
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import TwoProgressBars, duration_text

if TYPE_CHECKING:
    from toplist.experiments.experiment import Experiment
    from toplist.experiments.reproduction import ReproductionProgress
    from toplist.experiments.run_experiment import Verdict

FOLDER = "reproduction"  # as in experiments.results_folder, which is heavy to import
NO_FIGURES, NO_REPORT = "no figures are drawn", "no report is written"
EXAMPLES = """examples:
  toplist reproduce                          list all experiments and their state
  toplist reproduce kveton2015/table1
  toplist reproduce kveton2015 --quick
  toplist reproduce --all --data path/to/data

Results are kept: the same command continues after an interruption, and shows
the verdicts of finished experiments at once. A report on all papers is written
to report.html in the folder of results.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "reproduce", run, "play the papers' experiments again, and judge them", EXAMPLES)
    parser.add_argument(
        "names", nargs="*", metavar="EXPERIMENT",
        help="an experiment, as kveton2015/table1, or a paper, as kveton2015; without any, list all with their state",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="play all experiments (about 50 minutes on two cores)")
    parser.add_argument(
        "--quick", action="store_true",
        help="play smaller sizes with the same tests; some claims are then reported as undecided",
    )  # fmt: skip
    parser.add_argument("--steps", type=whole_number, metavar="N", help="lists per run (default: as in the paper)")
    parser.add_argument("--runs", type=whole_number, metavar="N", help="runs per policy (default: as in the paper)")
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N",
        help="seed of the random numbers; equal seeds give equal results (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--data", metavar="FOLDER", help="folder of the data sets, each in its own subfolder")
    parser.add_argument(
        "--jobs", type=whole_number, metavar="N", help="number of threads, or of Ray workers (default: one per core)"
    )
    parser.add_argument(
        "--engine", choices=("threads", "ray", "gpu"), default="threads",
        help="play on threads of this process, on a Ray cluster, or on the NVIDIA GPUs of this machine "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--address", metavar="ADDRESS", help="address of the Ray cluster, as auto (default: start a local one)"
    )
    parser.add_argument("--results", default=FOLDER, metavar="FOLDER", help="folder of results (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="print errors only, no progress and no verdicts")


def run(arguments: Namespace) -> int:
    """Reproduce the named experiments; without names, list all."""
    from toplist.experiments import reproduce
    from toplist.experiments.library import choose, library
    from toplist.experiments.required_data import check_data_folder
    from toplist.experiments.results_folder import REPORT, make_results_folder

    check_flags(arguments)
    folder, data = Path(arguments.results), check_data_folder(arguments.data, "--data")
    if not arguments.all and not arguments.names:
        for line in status_lines(library(), folder, data):
            print(line)
        return Exit.FINE
    names = None if arguments.all else arguments.names
    chosen = choose(names)
    make_results_folder(folder, "--results")
    missing = missing_extras()
    for left_out, problem in missing.items():
        if not arguments.quiet:
            print_message(f"{left_out}: {problem}")
    code = Exit.FINE
    with make_pool(arguments) as pool, TwoProgressBars(sys.stderr, shown=not arguments.quiet) as bars:

        def show_progress(now: ReproductionProgress) -> None:
            bars.draw(now.experiment, now.share, now.total_share, now.rate, now.seconds_left)

        def show_verdict(verdict: Verdict) -> None:
            if not arguments.quiet:
                bars.clear()
                print("\n".join(verdict_lines(verdict, chosen[verdict.experiment], data)), flush=True)

        def show_error(name: str, error: Exception) -> None:
            nonlocal code
            bars.clear()
            if getattr(arguments, "traceback", False):
                traceback.print_exception(error)
            worse, message = exit_code_and_message(error)
            print_message(f"{name}: {message}")
            code = max(code, worse)

        verdicts = reproduce(
            names, folder, data, quick=arguments.quick, steps=arguments.steps, runs=arguments.runs,
            seed=arguments.seed, threads=arguments.jobs, pool=pool,
            engine="gpu" if arguments.engine == "gpu" else "cpu", progress=show_progress, on_verdict=show_verdict,
            on_error=show_error,
        )  # fmt: skip
        if not arguments.quiet:
            bars.clear()
            print(summary_line(verdicts.values(), len(chosen) - len(verdicts)))
    if not arguments.quiet and NO_REPORT not in missing:
        print_message(f"wrote {folder / REPORT}")
    return code


def check_flags(arguments: Namespace) -> None:
    """Refuse numbers out of range and flags that contradict each other, before the first step."""
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
        raise InvalidInput("--jobs is for local workers, but the cluster at --address has its own; leave one out.")
    if arguments.engine == "gpu" and arguments.jobs is not None:
        raise InvalidInput(
            f"--jobs is {arguments.jobs}, but a GPU plays each run on a thread of its own; leave it out."
        )


def missing_extras() -> dict[str, ImportError]:
    """What is left out because an extra is not installed, and how to install it."""
    from toplist.support.files import import_optional

    missing: dict[str, ImportError] = {}
    for left_out, module, extra in ((NO_FIGURES, "matplotlib.figure", "plots"), (NO_REPORT, "jinja2", "report")):
        try:
            import_optional(module, extra)
        except ImportError as problem:
            missing[left_out] = problem
    return missing


def make_pool(arguments: Namespace) -> Any:
    """The workers to play on; None for threads of this process."""
    if arguments.engine == "ray":
        from toplist.engine.ray_pool import RayPool

        return RayPool(arguments.address, arguments.jobs)
    return nullcontext()


def verdict_lines(verdict: Verdict, experiment: Experiment, data: Path | None) -> list[str]:
    """The lines to print for a verdict: outcome, claims, and how to get missing data."""
    from toplist.experiments.experiment import Outcome
    from toplist.experiments.required_data import KINDS, locate
    from toplist.experiments.run_experiment import size_text

    lines = [f"{verdict.experiment}: {verdict.outcome}"]
    if verdict.outcome != Outcome.NEEDS_DATA:
        lines[0] += f" ({size_text(verdict.size)}; {duration_text(verdict.seconds)})"
    lines += [f"  on {verdict.data}"] if verdict.data else []
    for claim in verdict.claims:
        lines.append(f"  {claim.outcome}: {claim.text}; {claim.number}")
        lines += [f"    {claim.remark}"] if claim.remark else []
    if verdict.outcome != Outcome.NEEDS_DATA and experiment.data and locate(experiment.data, data) is None:
        how = KINDS[experiment.data].how
        lines.append(f"  kept from {verdict.finished}; to play it again, get {how}, and name --data")
    return lines


def status_lines(experiments: dict[str, Experiment], folder: Path, data: Path | None) -> list[str]:
    """A table of all experiments with the outcome of the last call, and how to get missing data."""
    from toplist.experiments.experiment import Outcome
    from toplist.experiments.required_data import KINDS, locate
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
        elif experiment.data and locate(experiment.data, data) is None:
            missing[experiment.data] = KINDS[experiment.data].how
            state = f"needs data: {experiment.data}"
        rows.append((name, state, experiment.title))
    lines = aligned_lines(list(zip(*rows, strict=True)), left=(0, 1, 2))
    return lines + [f"{kind}: get {how}, and name its folder with --data" for kind, how in missing.items()]


def summary_line(verdicts: Collection[Verdict], failed: int) -> str:
    """The number of experiments per outcome.

    >>> summary_line([], 2)
    '2 failed'
    """
    from toplist.experiments.experiment import Outcome

    tally = {str(outcome): sum(verdict.outcome == outcome for verdict in verdicts) for outcome in Outcome}
    return ", ".join(f"{count} {outcome}" for outcome, count in (tally | {"failed": failed}).items() if count)
