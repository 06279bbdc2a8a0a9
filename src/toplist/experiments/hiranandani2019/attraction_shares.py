"""Share of pairs of person and item that attract, per data set of hiranandani2019, beside the share in the paper.

    python -m toplist.experiments.hiranandani2019.attraction_shares --movielens FOLDER

The other data sets have flags of their own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from toplist.datasets import lastfm, million_song, movielens, yelp
from toplist.datasets.ratings import Ratings
from toplist.experiments.hiranandani2019 import ratings
from toplist.support.files import AnyPath
from toplist.support.script import run_script
from toplist.support.tables import aligned_lines

READERS: dict[str, Callable[[AnyPath], Ratings]] = {
    "movielens": movielens.read,
    "million-song": million_song.read,
    "lastfm": lastfm.read,
    "yelp": yelp.read,
}
PRINTED = {"movielens": "8%", "million-song": "3%", "lastfm": "-", "yelp": "3%"}  # in the paper, all "about"


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Read the given data sets, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in READERS:
        parser.add_argument(f"--{name}", dest=name, metavar="FOLDER", help=f"the folder or zip file of {name}")
    parser.add_argument(
        "--pool",
        type=int,
        default=1000,
        help="number of items and of people, those with the most ratings (default: 1000)",
    )
    options = vars(parser.parse_args(arguments))
    given = {name: options[name] for name in READERS if options[name] is not None}
    if not given:
        parser.error(f"name a folder with one of {', '.join(f'--{name}' for name in READERS)}")
    rows = [["data", "paper", "attracted", "by"]]
    for name, folder in given.items():
        found = READERS[name](folder)
        write(f"{folder}: {found}")
        feedback = ratings.feedback(found, options["pool"], options["pool"], topics=1)
        rows.append([name, PRINTED[name], f"{feedback.attracted.mean():.2%}", f"{found.least:g} {found.unit} or more"])
    for line in aligned_lines(list(zip(*rows, strict=True)), left=(0, 3)):
        write(line)
    return 0


if __name__ == "__main__":
    sys.exit(run_script(main))
