"""`toplist fit`: fits click models to a click log, and compares them on lists held out."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from toplist.cli.common_flags import STDOUT
from toplist.cli.exit_codes import Exit, print_message
from toplist.cli.log import add_reading, reading_options
from toplist.cli.parser import add_command, whole_number
from toplist.support.progress_bar import FitProgressBar

if TYPE_CHECKING:
    from toplist.logs import FitProgress, ModelComparison

EXAMPLES = """examples:
  toplist fit log.parquet                            compare all click models
  toplist fit log.parquet --models dbn,ubm,pbm --out models --html page.html
  toplist fit log.csv.gz --split time --no-prior
  toplist fit log.parquet --models dbn --holdout 0 --out models
  toplist fit log.parquet --prior attraction=0.2:10 --prior satisfaction=0.5:2

With --out, each model is kept as soon as it is fitted: after an interruption
the same command fits the missing ones, and other --models add to the folder.
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "fit", run, "fit click models to a click log, and compare them on lists held out", EXAMPLES
    )
    add_reading(parser)
    parser.add_argument(
        "--models", type=names, default="all", metavar="NAMES",
        help="models to fit, separated by commas: global-ctr, position-ctr, item-ctr, item-position-ctr, cascade, "
        "dcm-counts, dcm, sdbn-counts, sdbn, dbn, pbm, ubm, ccm (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--holdout", type=float, default=0.25, metavar="SHARE",
        help="share of lists that is not fitted but predicted; 0 fits and scores all lists (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--split", choices=("random", "time"), default="random",
        help="hold out lists at random, and if the log has times the latest ones besides, to see drift; or only the "
        "latest ones (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--no-drift", action="store_true", help="do not fit a split by time besides the random one; halves the time"
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="seed of the random split (default: %(default)s)"
    )
    parser.add_argument(
        "--per-query", action="store_true",
        help="fit examination, termination and continuation for each query, not once for all",
    )  # fmt: skip
    parser.add_argument(
        "--prior", type=prior, action="append", metavar="KIND=MEAN:STRENGTH",
        help="shrink parameters of this kind to a mean as if by STRENGTH lists, as attraction=0.2:10; other kinds are "
        "not shrunk; can be repeated (default: attraction, satisfaction and rates of items, to the mean of the log "
        "by 2 lists)",
    )  # fmt: skip
    parser.add_argument("--no-prior", action="store_true", help="shrink nothing: maximum likelihood")
    parser.add_argument(
        "--engine", choices=("local", "disk", "ray"), default="local",
        help="keep the log in memory; on disk, for one that is larger; or on a Ray cluster whose workers read the "
        "files of a folder; the parameters are the same (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--address", metavar="ADDRESS", help="running Ray cluster, such as auto (default: start one on this machine)"
    )
    group = parser.add_argument_group("output (paths are checked before the log is read)")
    group.add_argument(
        "--out", dest="results", metavar="FOLDER", help="keep the fitted models and all figures in this folder, as JSON"
    )
    group.add_argument("--html", metavar="FILE", help="write everything to one HTML page with pictures")
    group.add_argument("--json", metavar="FILE", help="write all figures as JSON; - prints them instead of the tables")
    group.add_argument("--quiet", action="store_true", help="print errors only, no tables and no progress")


def run(arguments: Namespace) -> int:
    """Fit, and print and write the comparison."""
    check_flags(arguments)
    from toplist.logs import fit
    from toplist.logs.arrow import arrow

    arrow.lib.enable_signal_handlers(False)  # those of Arrow end the process
    with FitProgressBar(sys.stderr, shown=not arguments.quiet) as bar:

        def show(now: FitProgress) -> None:
            label = now.model if now.split == arguments.split else f"{now.model} by {now.split}"
            bar.draw(label, now.done, now.total, now.iteration, now.per_list)

        found = fit(
            arguments.log, arguments.models, holdout=arguments.holdout, split=arguments.split,
            drift=not arguments.no_drift, seed=arguments.seed, priors=chosen_priors(arguments),
            per_query=arguments.per_query, engine=arguments.engine, address=arguments.address,
            reading=reading_options(arguments) | {"progress": bar}, folder=arguments.results, progress=show,
        )  # fmt: skip
    write_outputs(arguments, found)
    return Exit.FINE


def check_flags(arguments: Namespace) -> None:
    """Refuse, before the log is read, what cannot be used, written or drawn."""
    import os

    from toplist.core.problem import InvalidInput, refuse
    from toplist.support.files import check_writable, import_optional

    if not os.path.exists(arguments.log):
        raise refuse("The log", arguments.log, "a file or a folder that exists", "see that the path is right")
    if not 0 <= arguments.holdout < 1:
        raise refuse("--holdout", arguments.holdout, "at least 0 and below 1", "give a share of lists, as 0.25")
    if arguments.engine != "ray" and arguments.address is not None:
        raise InvalidInput("--address names a Ray cluster; add --engine ray.")
    if arguments.no_prior and arguments.prior:
        raise InvalidInput("--prior and --no-prior are both given; leave one out.")
    if arguments.json not in (None, STDOUT):
        check_writable(arguments.json, "The json file")
    if arguments.html is not None:
        check_writable(arguments.html, "The page", (".html", ".htm"))
        import_optional("jinja2", "report")
        import_optional("matplotlib.figure", "plots")


def write_outputs(arguments: Namespace, found: ModelComparison) -> None:
    """Print the tables, and write the files."""
    if arguments.json == STDOUT:
        sys.stdout.write(found.json_text())
    elif not arguments.quiet:
        reading = f"{found.reading}\n" if found.reading else ""
        print(f"{reading}{found.log}\n\n{found}")
    sys.stdout.flush()
    written = [] if arguments.results is None else [f"the models in {arguments.results}"]
    if arguments.json not in (None, STDOUT):
        found.to_json(arguments.json)
        written.append(arguments.json)
    if arguments.html is not None:
        found.to_html(arguments.html, command_text(arguments))
        written.append(arguments.html)
    if written and not arguments.quiet:
        print_message(f"wrote {' and '.join(written)}")


def command_text(arguments: Namespace) -> str:
    """The command that makes the same comparison, without flags that have their defaults."""
    words = ["toplist", "fit", arguments.log]
    if arguments.models != "all":
        words += ["--models", ",".join(arguments.models)]
    for flag, value, default in (
        ("--holdout", arguments.holdout, 0.25),
        ("--split", arguments.split, "random"),
        ("--seed", arguments.seed, 0),
        ("--engine", arguments.engine, "local"),
        ("--address", arguments.address, None),
        ("--layout", arguments.layout, None),
        ("--columns", ",".join(f"{role}={name}" for role, name in arguments.columns.items()), ""),
        ("--ranking", arguments.ranking, None),
        ("--out", arguments.results, None),
        ("--html", arguments.html, None),
    ):
        words += [flag, str(value)] if value != default else []
    for kind, (mean, strength) in arguments.prior or ():
        words += ["--prior", f"{kind}={mean:g}:{strength:g}"]
    flags = {
        "--no-drift": arguments.no_drift, "--per-query": arguments.per_query, "--no-prior": arguments.no_prior,
        "--strict": arguments.strict,
    }  # fmt: skip
    return shlex.join(words + [flag for flag, is_given in flags.items() if is_given])


def chosen_priors(arguments: Namespace) -> Any:
    """The priors that the flags name; None for the default ones."""
    if arguments.no_prior:
        return {}
    return dict(arguments.prior) if arguments.prior else None


def names(text: str) -> str | list[str]:
    """Names of models, separated by commas.

    >>> names("dbn,ubm"), names("all")
    (['dbn', 'ubm'], 'all')
    """
    return "all" if text == "all" else [name.strip() for name in text.split(",") if name.strip()]


def prior(text: str) -> tuple[str, tuple[float, float]]:
    """A prior, as KIND=MEAN:STRENGTH.

    >>> prior("attraction=0.2:10")
    ('attraction', (0.2, 10.0))
    """
    kind, _, numbers = text.partition("=")
    mean, _, strength = numbers.partition(":")
    try:
        found = float(mean), float(strength)
    except ValueError:
        found = math.nan, math.nan
    if not kind or math.isnan(sum(found)):
        raise argparse.ArgumentTypeError(f"{text!r} is not KIND=MEAN:STRENGTH, as attraction=0.2:10")
    return kind.strip(), found
