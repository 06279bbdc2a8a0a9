"""Makes the page docs/reproduction.md and its pictures from a folder of results.

    python -m toplist.experiments.reproduction_page RESULTS docs/reproduction.md

Equal results give equal files: nothing in them depends on when or where this is run.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toplist.core.problem import InvalidInput, refuse
from toplist.experiments import script
from toplist.experiments.experiment import Outcome
from toplist.experiments.results_folder import SIGNS, Chapter, Entry, chapters, machine, moment, regrets, several, tally
from toplist.experiments.run_experiment import Verdict, spelled
from toplist.experiments.verdicts import RULES
from toplist.support.files import optional, replacing, write_text
from toplist.support.progress_bar import clock
from toplist.support.tables import counted

NOTE = (
    "<!-- Made by python -m toplist.experiments.reproduction_page from a folder of results: run that again to change "
    "it. -->"
)
COMMAND = "python -m toplist.experiments.reproduction_page RESULTS docs/reproduction.md"
PICTURES = Path("pictures") / "reproduction"  # beside the page
BUDGET = 1_900_000  # bytes of all pictures together
WIDTHS = (1400, 1200, 1000, 850, 700, 550, 400)  # pixels; the largest that fits the budget is taken
COLOURS = 128  # of a picture: lines on white need no more
DISPUTED = {
    Outcome.NOT_MET: "What is not met",
    Outcome.UNDECIDED: "What is undecided",
    Outcome.SCALED: "What is met with the exploration scaled",
}


class Picture(NamedTuple):
    """A picture of the page."""

    file: str
    content: bytes


def make(results: Path, page: Path) -> Path:
    """Write the page, and its pictures beside it; those of an earlier page go."""
    if not results.is_dir():
        raise refuse("The folder of results", str(results), "a folder that exists", "run toplist reproduce --all first")
    book = chapters(results)
    if not any(entry.played for chapter in book for entry in chapter.entries):
        raise InvalidInput(f"{results} has no results; run toplist reproduce --all --results {results} first.")
    drawn = pictures([entry for chapter in book for entry in chapter.entries])
    write_text(page, "The page", "\n".join(lines(book, drawn)) + "\n")
    folder = page.parent / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for picture in drawn.values():
        with replacing(folder / picture.file, "The picture") as new:
            new.write_bytes(picture.content)
    wanted = {picture.file for picture in drawn.values()}
    for old in folder.iterdir():
        if old.suffix in (".png", ".svg") and old.name not in wanted:
            old.unlink()
    return page


def pictures(entries: Sequence[Entry]) -> dict[str, Picture]:
    """The pictures of all experiments that have one, as large as the budget allows."""
    found: dict[str, Picture] = {}
    for width in WIDTHS:
        found = {entry.name: picture for entry in entries if (picture := picture_of(entry, width)) is not None}
        if sum(len(picture.content) for picture in found.values()) <= BUDGET:
            break
    return found


def picture_of(entry: Entry, width: int) -> Picture | None:
    """An experiment's picture, at most so many pixels wide; as SVG where that is smaller."""
    png, svg = entry.figure(".png"), entry.figure(".svg")
    name = entry.name.replace("/", "-")
    if png is None:
        return None
    small = Picture(f"{name}.png", downscaled(png, width))
    if svg is not None and svg.stat().st_size < len(small.content):
        return Picture(f"{name}.svg", svg.read_bytes())
    return small


def downscaled(path: Path, width: int) -> bytes:
    """A PNG of few colours, at most so many pixels wide."""
    images = optional("PIL.Image", "plots")
    try:
        with images.open(path) as opened:
            picture = opened.convert("RGB")
    except OSError as problem:
        raise refuse("The figure", str(path), "a picture that can be read", f"run it again ({problem})") from problem
    if picture.width > width:
        picture = picture.resize((width, round(picture.height * width / picture.width)), images.Resampling.LANCZOS)
    target = io.BytesIO()
    picture.quantize(COLOURS, dither=images.Dither.NONE).save(target, format="png", optimize=True)
    return target.getvalue()


def lines(book: Sequence[Chapter], drawn: dict[str, Picture]) -> Iterator[str]:
    """The page."""
    entries = [entry for chapter in book for entry in chapter.entries]
    yield from (NOTE, "# Reproduction results", "")
    yield from opening(entries, len(book))
    rows = (
        (link(entry), plain(entry.experiment.title), shown(entry.state), entry.met(), took([entry]))
        for entry in entries
    )
    yield from table(("experiment", "what it is", "verdict", "claims met", "time"), rows)
    for outcome, title in DISPUTED.items():
        yield from disputed(entries, outcome, title)
    yield from not_played(entries)
    yield from ("", "## What decides", "", *(f"- {plain(rule)}" for rule in RULES))
    for chapter in book:
        yield from ("", f"## {plain(chapter.paper.title)}", "")
        yield f"{', '.join(several([chapter.paper.authors, chapter.paper.venue]))} (`{chapter.key}`)."
        for entry in chapter.entries:
            yield from of_experiment(entry, drawn.get(entry.name))


def opening(entries: Sequence[Entry], papers: int) -> Iterator[str]:
    """What this is, and where it comes from."""
    played = [entry.played for entry in entries if entry.played is not None]
    claims = [claim.outcome for verdict in played for claim in verdict.claims]
    counts = ", ".join(f"{count} {state}" for state, count in tally(entries).items())
    yield (
        f"{len(entries)} tables and figures of {counted(papers, 'paper')}, each simulated again and judged by numeric "
        f"tests: {counts}. An experiment is as good as the worst of its claims; of {counted(len(claims), 'claim')}, "
        f"{claims.count(Outcome.MET)} are met as printed."
    )
    ends = sorted(verdict.finished for verdict in played)
    quick = sum(verdict.size.quick for verdict in played)
    yield from (
        "",
        "| | |",
        "|---|---|",
        "| played by | `toplist reproduce --all --data FOLDER` |",
        f"| this page by | `{COMMAND}` |",
        f"| version | {plain(', '.join(several(f'toplist {verdict.version}' for verdict in played)))} |",
        f"| machine | {plain('; '.join(several(map(machine, played))))} |",
        f"| total time | {took(entries)} |",
        f"| finished | {' to '.join(several(map(moment, (ends[0], ends[-1]))))} |",
        *([f"| quick | {counted(quick, 'experiment')} at a smaller size than the paper's |"] if quick else []),
        "",
    )


def disputed(entries: Sequence[Entry], outcome: Outcome, title: str) -> Iterator[str]:
    """The claims of an outcome that asks for an explanation, with the most likely one."""
    found = [
        (entry, claim)
        for entry in entries
        if entry.played is not None
        for claim in entry.played.claims
        if claim.outcome == outcome
    ]
    if found:
        yield from ("", f"## {title}", "")
        for entry, claim in found:
            remark = f" {plain(claim.remark)}" if claim.remark else ""
            yield f"- {link(entry)}: {plain(claim.text)}. Found: {plain(claim.number)}.{remark}"


def not_played(entries: Sequence[Entry]) -> Iterator[str]:
    """What could not be played, and what it takes."""
    lacking = [entry for entry in entries if entry.played is None]
    if lacking:
        yield from ("", "## What was not played", "")
        for entry in lacking:
            yield f"- {link(entry)}: {entry.state}. {plain(entry.how)}".rstrip()


def of_experiment(entry: Entry, picture: Picture | None) -> Iterator[str]:
    """A section with the figure, its claims, what deviates, and how to run it."""
    experiment = entry.experiment
    yield from ("", f"({anchor(entry)})=", f"### {plain(experiment.title)}", "")
    yield f"`{entry.name}`: **{entry.state}**. {plain(experiment.setting)}"
    if picture is not None:
        alt = plain(f"Figure of {entry.name}: {experiment.title}")
        yield from ("", f"![{alt}]({(PICTURES / picture.file).as_posix()})")
    if entry.played is not None:
        rows = (
            (shown(claim.outcome), plain(claim.text), plain(claim.number), plain(claim.remark))
            for claim in entry.played.claims
        )
        yield from ("", *table(("verdict", "what the paper says", "what was found", "remark"), rows))
        yield from ends(entry.played)
    if experiment.deviations:
        yield from ("", "What deviates from the paper, and why:", "")
        yield from (f"- {plain(text)}" for text in experiment.deviations)
    told = [*played_how(entry.played), f"To run it{' again' if entry.played else ''}: `{entry.command()}`."]
    yield from ("", " ".join([*told, plain(entry.how)]).rstrip())


def ends(verdict: Verdict) -> Iterator[str]:
    """Where the curves end."""
    heads, *rows = regrets(verdict) or [[]]
    if rows:
        escaped = [[plain(cell) for cell in row] for row in rows]
        yield from ("", "Regret where the curves end, with its standard error:", "")
        yield from table([plain(name) for name in heads], escaped)


def played_how(verdict: Verdict | None) -> Iterator[str]:
    """Size, time and data, in sentences."""
    if verdict is not None:
        size = spelled(verdict.size)
        yield f"{size[0].upper()}{size[1:]}; it took {clock(verdict.seconds)}."
        if verdict.data:
            yield f"Data: {plain(verdict.data)}{f' ({plain(verdict.substitute)})' if verdict.substitute else ''}."


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table; its cells are escaped already."""
    heads = list(heads)
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *map(list, rows))]


def anchor(entry: Entry) -> str:
    """What other pages link to."""
    return f"reproduction-{entry.name.replace('/', '-')}"


def link(entry: Entry) -> str:
    """The way to an experiment's section."""
    return f"[{entry.name}](#{anchor(entry)})"


def shown(state: str) -> str:
    """A verdict as a sign and words."""
    return f"{SIGNS[state]} {state}"


def took(entries: Iterable[Entry]) -> str:
    """How long these took together; nothing where none was played."""
    played = [entry.seconds for entry in entries if entry.played is not None]
    return clock(sum(played)) if played else ""


def plain(text: str) -> str:
    r"""Prose in which nothing is Markdown, but for code in backticks.

    >>> print(plain("a*b < c|d, see `x_1`"))
    a\*b \< c\|d, see `x_1`
    """
    text, special = " ".join(text.split()), r"([\\*_\[\]<>|~#$^{}&`])"
    if text.count("`") % 2:  # one has no fellow
        return re.sub(special, r"\\\1", text)
    pieces = text.split("`")
    pieces[::2] = [re.sub(special, r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", r"\|") for piece in pieces[1::2]]
    return "`".join(pieces)


def main(arguments: list[str] | None = None) -> int:
    """Make the page of a folder; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m toplist.experiments.reproduction_page", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder that toplist reproduce has filled")
    parser.add_argument("page", type=Path, metavar="PAGE", help="the page to write, as docs/reproduction.md")
    options = parser.parse_args(arguments)

    def command() -> int:
        print(f"wrote {make(options.results, options.page)}")
        return 0

    return script.run(command)


if __name__ == "__main__":
    sys.exit(main())
