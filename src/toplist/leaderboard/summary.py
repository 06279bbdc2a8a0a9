"""Writes the result of a leaderboard into a document: the first ranks, the best of every problem, and a picture.

    python -m toplist.leaderboard.summary board.json docs/leaderboard.md
    python -m toplist.leaderboard.summary learned.json docs/leaderboard.md --part learned

What stands between the two marks in the document, or those of a part, is replaced; the picture of a whole board is
written beside it. Equal boards give equal files.
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.leaderboard.board import FORMAT, kilobytes, largest_size, suite_name
from toplist.leaderboard.contenders import YARDSTICK
from toplist.leaderboard.ranks import standings
from toplist.support.files import write_text
from toplist.support.script import run_script

BEGIN, END = "<!-- result of the board: made by python -m toplist.leaderboard.summary -->", "<!-- end of the result -->"
PICTURE = Path("pictures") / "leaderboard.svg"  # beside the document
FIRST = 15  # ranks in a table
ROW, LEFT, WIDTH = 16, 210, 460  # of the picture


def marks(part: str = "") -> tuple[str, str]:
    """The lines around the result in a document, or around one of several results.

    >>> marks("learned")[1]
    '<!-- end of the result: learned -->'
    """
    named = f": {part}" if part else ""
    return BEGIN.replace(":", f"{named}:", 1), END.replace(" -->", f"{named} -->")


def write_summary(board: Path, document: Path, part: str = "") -> Path:
    """Replace the result in a document, and write the picture; a part has none."""
    try:
        found = json.loads(board.read_text(encoding="utf-8"))
        known = {key: found[key] for key in FORMAT}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{str(board)!r} is no leaderboard ({error}); make one with toplist leaderboard --json."
        ) from None
    if known != FORMAT:
        raise InvalidInput(f"{str(board)!r} has the format {known}, but {FORMAT} is read; make it again.")
    text = document.read_text(encoding="utf-8")
    begin, end = marks(part)
    if text.count(begin) != 1 or text.count(end) != 1:
        raise InvalidInput(f"{str(document)!r} has no place for the result: put the lines {begin} and {end} there.")
    before, after = text.partition(begin)[0], text.partition(end)[2]
    shown = lines(found, pictured=not part)
    write_text(document, "The document", "\n".join([before + begin, "", *shown, "", end + after]))
    if part:
        return document
    picture = document.parent / PICTURE
    picture.parent.mkdir(parents=True, exist_ok=True)
    division = next(iter(found["standings"]))
    write_text(picture, "The picture", "\n".join(drawn(last(found, division))) + "\n")
    return document


def last(found: dict[str, Any], division: str) -> list[dict[str, Any]]:
    """The standings of a division after all lists."""
    rows: list[dict[str, Any]] = found["standings"][division][str(found["horizons"][-1])]
    return rows


def lines(found: dict[str, Any], pictured: bool = True) -> Iterator[str]:
    """The result in Markdown."""
    settings, machine = found["settings"], found["machine"]
    yield (
        f"Suite version {suite_name(settings)}; {settings['problems']} problems, {settings['steps']:,} lists, "
        f"{settings['runs']} runs, seed {settings['seed']}, toplist {found['version']}, {machine['cores']} cores "
        f"({machine['processor']})."
    )
    for division in found["standings"]:
        yield from ("", f"The first {FIRST} of {len(last(found, division))} on {division}:", "")
        yield from division_table(found, division)
    if pictured:
        yield from ("", f"![Normalised regret of every policy, best first]({PICTURE.as_posix()})")
    yield ""
    yield "Per problem, the policies of which none is beyond doubt better than another of them, the best first:"
    yield from ("", "| problem | best | normalised regret of the first |", "|---|---|---|")
    for problem, cells in found["results"].items():
        scale = float(np.mean([run[-1] for run in cells[YARDSTICK]["regret"]]))
        ranked = standings(
            {label: np.array([run[-1] for run in cell["regret"]]) / scale for label, cell in cells.items()}
        )
        best = [f"`{each.label}`" for each in ranked if each.best == 1]
        shown = ", ".join(best[:4]) + (f" and {len(best) - 4} more" if len(best) > 4 else "")
        yield f"| `{problem}` | {shown} | {ranked[0].score:.4f} |"


def division_table(found: dict[str, Any], division: str) -> Iterator[str]:
    """The first ranks of a division."""
    horizons = found["horizons"]
    problems = [each["name"] for each in found["problems"] if division == next(iter(found["standings"]))]
    problems = problems or [each["name"] for each in found["problems"] if each["features"]]
    violated = {each["label"]: len(set(problems) & set(each["violated"])) for each in found["policies"]}
    earlier = [
        {row["label"]: row["score"] for row in found["standings"][division][str(steps)]} for steps in horizons[:-1]
    ]
    regrets = [f"regret at {steps:,}" for steps in horizons]
    heads = ["rank", "rank, 95%", "policy", *regrets, "us/list", "KB", "violated on"]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in last(found, division)[:FIRST]:
        label = row["label"]
        costs = [found["results"][name][label] for name in problems]
        cost, size = np.mean([each["microseconds"] for each in costs]), largest_size(each["size"] for each in costs)
        regrets = [f"{scores[label]:.4f}" for scores in earlier]
        regrets.append(f"{row['score']:.4f} ± {(row['high'] - row['low']) / 2:.4f}")
        cells = [
            str(row["rank"]),
            f"{row['best']}-{row['worst']}",
            f"`{label}`",
            *regrets,
            f"{cost:.2f}",
            kilobytes(size),
        ]
        yield f"| {' | '.join([*cells, f'{violated[label]} of {len(problems)}'])} |"


def drawn(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The picture: a line per policy with its regret, where that of random lists is 1, and its interval."""
    most = max(row["high"] for row in rows)
    height = ROW * (len(rows) + 2)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height}" font-size="11">'
    yield f'<rect width="{LEFT + WIDTH + 20}" height="{height}" fill="#fff"/>'
    for place, row in enumerate(rows):
        y = ROW * (place + 1)
        low, middle, high = (LEFT + WIDTH * max(row[name], 0.0) / most for name in ("low", "score", "high"))
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{html.escape(row["label"])}</text>'
        yield f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="#888" stroke-width="2"/>'
        yield f'<circle cx="{middle:.1f}" cy="{y}" r="3.5" fill="#0b62a4"/>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        if share <= most:
            x = LEFT + WIDTH * share / most
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - ROW}" stroke="#ddd"/>'
            yield f'<text x="{x:.1f}" y="{height - 3}" text-anchor="middle">{share:g}</text>'
    yield "</svg>"


def main(arguments: list[str] | None = None) -> int:
    """Write the result of a board into a document; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m toplist.leaderboard.summary", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("board", type=Path, metavar="BOARD", help="a file of toplist leaderboard --json")
    parser.add_argument("document", type=Path, metavar="DOCUMENT", help="the document, as docs/leaderboard.md")
    parser.add_argument("--part", default="", metavar="NAME", help="which of several results of the document it is")
    options = parser.parse_args(arguments)

    def command() -> int:
        print(f"wrote {write_summary(options.board, options.document, options.part)}")
        return 0

    return run_script(command)


if __name__ == "__main__":
    sys.exit(main())
