"""Writes docs/reproduction.md or docs/newer_claims.md, and its pictures, from a folder of results.

    python -m toplist.experiments.reproduction_page RESULTS docs/reproduction.md
    python -m toplist.experiments.reproduction_page RESULTS docs/newer_claims.md --newer

The first has the five papers, the second the claims of others.

Equal results give equal files: nothing in them depends on the time or the machine of this command.
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
from toplist.experiments.experiment import Outcome
from toplist.experiments.papers import NEWER
from toplist.experiments.results_folder import (
    SIGNS,
    Chapter,
    ExperimentRecord,
    chapters,
    count_states,
    machine_text,
    regret_table,
    time_text,
    total_time,
    unique_texts,
)
from toplist.experiments.run_experiment import Verdict, size_text
from toplist.experiments.verdicts import FIVE_PAPERS_RULES, RULES
from toplist.support.files import import_optional, replace_file, write_text
from toplist.support.progress_bar import duration_text
from toplist.support.script import run_script
from toplist.support.tables import count_text

NOTE = (
    "<!-- Made by python -m toplist.experiments.reproduction_page from a folder of results: run that again to change "
    "it. -->"
)
COMMAND = "python -m toplist.experiments.reproduction_page RESULTS"
PICTURES = Path("pictures")  # beside the page; a folder per page
BUDGET = 1_900_000  # bytes of all pictures together, at most
WIDTHS = (1400, 1200, 1000, 850, 700, 550, 400)  # pixels; the largest that fits the budget is taken
COLOURS = 128  # of a picture: lines on white need no more
DISPUTED = {
    Outcome.NOT_MET: "Not met",
    Outcome.UNDECIDED: "Undecided",
    Outcome.SCALED: "Met with the exploration scaled",
}


class Picture(NamedTuple):
    """A picture of the page."""

    file: str
    content: bytes


class PageKind(NamedTuple):
    """One of the two pages."""

    title: str
    content: str  # what its experiments are
    played_by: str
    page_by: str
    rules: Sequence[str]


IN_WORDS = (
    "Met as printed: the order of policies, or the shape of a curve, is as the paper says. No printed figure of these "
    "papers could be had, so no number of theirs is compared; the problems are ours."
)
FIVE_PAPERS = PageKind(
    "Reproduction results", "tables and figures", "toplist reproduce --all --data FOLDER",
    f"{COMMAND} docs/reproduction.md", FIVE_PAPERS_RULES,
)  # fmt: skip
OTHER_PAPERS = PageKind(
    "Claims of newer papers",
    "comparisons on the nearest problems that can be built",
    f"toplist reproduce {NEWER} --data FOLDER",
    f"{COMMAND} docs/newer_claims.md --newer",
    (IN_WORDS, *RULES),
)


def write_page(results: Path, page: Path, newer: bool = False) -> Path:
    """Write the page and its pictures; delete pictures of an earlier page."""
    if not results.is_dir():
        raise refuse("The folder of results", str(results), "a folder that exists", "run toplist reproduce --all first")
    book = [chapter for chapter in chapters(results) if (chapter.key == NEWER) == newer]
    if not any(entry.played_verdict for chapter in book for entry in chapter.entries):
        raise InvalidInput(f"{results} has no results; run toplist reproduce --all --results {results} first.")
    drawn = chosen_pictures([entry for chapter in book for entry in chapter.entries])
    pictures = PICTURES / page.stem
    kind = OTHER_PAPERS if newer else FIVE_PAPERS
    write_text(page, "The page", "\n".join(page_lines(book, drawn, kind, pictures)) + "\n")
    folder = page.parent / pictures
    folder.mkdir(parents=True, exist_ok=True)
    for picture in drawn.values():
        with replace_file(folder / picture.file, "The picture") as new:
            new.write_bytes(picture.content)
    wanted = {picture.file for picture in drawn.values()}
    for old in folder.iterdir():
        if old.suffix in (".png", ".svg") and old.name not in wanted:
            old.unlink()
    return page


def chosen_pictures(entries: Sequence[ExperimentRecord]) -> dict[str, Picture]:
    """The pictures of all experiments, as large as the budget allows."""
    found: dict[str, Picture] = {}
    for width in WIDTHS:
        found = {entry.name: picture for entry in entries if (picture := picture_of(entry, width)) is not None}
        if sum(len(picture.content) for picture in found.values()) <= BUDGET:
            break
    return found


def picture_of(entry: ExperimentRecord, width: int) -> Picture | None:
    """The picture of an experiment, at most `width` pixels wide; the SVG if that is smaller."""
    png, svg = entry.figure(".png"), entry.figure(".svg")
    name = entry.name.replace("/", "-")
    if png is None:
        return None
    small = Picture(f"{name}.png", downscale(png, width))
    if svg is not None and svg.stat().st_size < len(small.content):
        return Picture(f"{name}.svg", svg.read_bytes())
    return small


def downscale(path: Path, width: int) -> bytes:
    """A PNG of few colours, at most `width` pixels wide."""
    images = import_optional("PIL.Image", "plots")
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


def page_lines(book: Sequence[Chapter], drawn: dict[str, Picture], kind: PageKind, pictures: Path) -> Iterator[str]:
    """The lines of the page."""
    entries = [entry for chapter in book for entry in chapter.entries]
    machines = unique_texts(machine_text(entry.played_verdict) for entry in entries if entry.played_verdict is not None)
    yield from (NOTE, f"# {kind.title}", "")
    yield from opening(entries, len(book), kind, machines)
    rows = (
        (
            section_link(entry),
            markdown_text(entry.experiment.title),
            state_text(entry.state),
            entry.claims_met(),
            *place_and_size(entry.played_verdict, machines),
            total_time([entry]),
        )
        for entry in entries
    )
    yield from markdown_table(("experiment", "content", "verdict", "claims met", "runs", "machine", "time"), rows)
    for outcome, title in DISPUTED.items():
        yield from disputed_claims(entries, outcome, title)
    yield from unplayed_experiments(entries)
    yield from ("", "## Rules of the tests", "", *(f"- {markdown_text(rule)}" for rule in kind.rules))
    for chapter in book:
        yield from ("", f"## {markdown_text(chapter.paper.title)}", "")
        yield f"{', '.join(unique_texts([chapter.paper.authors, chapter.paper.venue]))} (`{chapter.key}`)."
        for entry in chapter.entries:
            yield from experiment_section(entry, drawn.get(entry.name), pictures)


def place_and_size(verdict: Verdict | None, machines: Sequence[str]) -> tuple[str, str]:
    """The number of runs, and that of the machine among several; nothing of an experiment that was not played."""
    if verdict is None:
        return "", ""
    machine = machine_text(verdict)
    return f"{verdict.size.runs:,}", str(machines.index(machine) + 1) if machine else ""


def opening(entries: Sequence[ExperimentRecord], papers: int, kind: PageKind, machines: Sequence[str]) -> Iterator[str]:
    """Counts of all outcomes, and how, when and where they were produced."""
    played = [entry.played_verdict for entry in entries if entry.played_verdict is not None]
    claims = [claim.outcome for verdict in played for claim in verdict.claims]
    counts = ", ".join(f"{count} {state}" for state, count in count_states(entries).items())
    of = "" if kind is OTHER_PAPERS else f" of {count_text(papers, 'paper')}"
    yield (
        f"{len(entries)} {kind.content}{of}, each simulated again and judged by numeric tests: {counts}. The verdict "
        f"of an experiment is that of its worst claim; of {count_text(len(claims), 'claim')} "
        f"{claims.count(Outcome.MET)} are met as printed."
    )
    times = sorted(verdict.finished for verdict in played)
    quick = sum(verdict.size.quick for verdict in played)
    yield from (
        "",
        "| | |",
        "|---|---|",
        f"| played by | `{kind.played_by}` |",
        f"| this page by | `{kind.page_by}` |",
        f"| version | {markdown_text(', '.join(unique_texts(f'toplist {verdict.version}' for verdict in played)))} |",
        *(f"| machine {number} | {markdown_text(machine)} |" for number, machine in enumerate(machines, 1)),
        f"| total time | {total_time(entries)} |",
        f"| finished | {' to '.join(unique_texts(map(time_text, (times[0], times[-1]))))} |",
        *([f"| quick | {count_text(quick, 'experiment')} at a smaller size than the paper's |"] if quick else []),
        "",
    )


def disputed_claims(entries: Sequence[ExperimentRecord], outcome: Outcome, title: str) -> Iterator[str]:
    """The section of all claims with an outcome that needs an explanation."""
    found = [
        (entry, claim)
        for entry in entries
        if entry.played_verdict is not None
        for claim in entry.played_verdict.claims
        if claim.outcome == outcome
    ]
    if found:
        yield from ("", f"## {title}", "")
        for entry, claim in found:
            remark = f" {markdown_text(claim.remark)}" if claim.remark else ""
            yield f"- {section_link(entry)}: {markdown_text(claim.text)}. Found: {markdown_text(claim.number)}.{remark}"


def unplayed_experiments(entries: Sequence[ExperimentRecord]) -> Iterator[str]:
    """The section of experiments that were not played, and what they need."""
    lacking = [entry for entry in entries if entry.played_verdict is None]
    if lacking:
        yield from ("", "## Not played", "")
        for entry in lacking:
            yield f"- {section_link(entry)}: {entry.state}. {markdown_text(entry.data_advice)}".rstrip()


def experiment_section(entry: ExperimentRecord, picture: Picture | None, pictures: Path) -> Iterator[str]:
    """The section of an experiment: figure, claims, deviations and command."""
    experiment = entry.experiment
    yield from ("", f"({anchor(entry)})=", f"### {markdown_text(experiment.title)}", "")
    yield f"`{entry.name}`: **{entry.state}**. {markdown_text(experiment.setting)}"
    if picture is not None:
        alt = markdown_text(f"Figure of {entry.name}: {experiment.title}")
        yield from ("", f"![{alt}]({(pictures / picture.file).as_posix()})")
    if entry.played_verdict is not None:
        rows = (
            (
                state_text(claim.outcome),
                markdown_text(claim.text),
                markdown_text(claim.number),
                markdown_text(claim.remark),
            )
            for claim in entry.played_verdict.claims
        )
        yield from ("", *markdown_table(("verdict", "claim of the paper", "found", "remark"), rows))
        yield from regret_section(entry.played_verdict)
    if experiment.deviations:
        yield from ("", "Deviations from the paper:", "")
        yield from (f"- {markdown_text(text)}" for text in experiment.deviations)
    sentences = [
        *run_sentences(entry.played_verdict),
        f"To run it{' again' if entry.played_verdict else ''}: `{entry.command()}`.",
    ]
    yield from ("", " ".join([*sentences, markdown_text(entry.data_advice)]).rstrip())


def regret_section(verdict: Verdict) -> Iterator[str]:
    """The table of final regrets."""
    heads, *rows = regret_table(verdict) or [[]]
    if rows:
        escaped = [[markdown_text(cell) for cell in row] for row in rows]
        yield from ("", "Regret at the last step, with its standard error:", "")
        yield from markdown_table([markdown_text(name) for name in heads], escaped)


def run_sentences(verdict: Verdict | None) -> Iterator[str]:
    """Size, time and data of a run, in sentences."""
    if verdict is not None:
        size = size_text(verdict.size)
        yield f"{size[0].upper()}{size[1:]}; it took {duration_text(verdict.seconds)}."
        if verdict.data:
            substitute = f" ({markdown_text(verdict.substitute)})" if verdict.substitute else ""
            yield f"Data: {markdown_text(verdict.data)}{substitute}."


def markdown_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table of escaped cells."""
    heads = list(heads)
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *map(list, rows))]


def anchor(entry: ExperimentRecord) -> str:
    """The anchor of an experiment's section."""
    return f"reproduction-{entry.name.replace('/', '-')}"


def section_link(entry: ExperimentRecord) -> str:
    """A link to an experiment's section."""
    return f"[{entry.name}](#{anchor(entry)})"


def state_text(state: str) -> str:
    """A verdict as sign and words."""
    return f"{SIGNS[state]} {state}"


def markdown_text(text: str) -> str:
    r"""Plain text as Markdown: all special characters are escaped, except in code in backticks.

    >>> print(markdown_text("a*b < c|d, see `x_1`"))
    a\*b \< c\|d, see `x_1`
    """
    text, special = " ".join(text.split()), r"([\\*_\[\]<>|~#$^{}&`])"
    if text.count("`") % 2:  # an unpaired backtick
        return re.sub(special, r"\\\1", text)
    pieces = text.split("`")
    pieces[::2] = [re.sub(special, r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", r"\|") for piece in pieces[1::2]]
    return "`".join(pieces)


def main(arguments: list[str] | None = None) -> int:
    """Write the page of a folder; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m toplist.experiments.reproduction_page", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the results folder of toplist reproduce")
    parser.add_argument("page", type=Path, metavar="PAGE", help="the page to write, as docs/reproduction.md")
    parser.add_argument("--newer", action="store_true", help="the claims of newer papers instead of the five papers")
    options = parser.parse_args(arguments)

    def command() -> int:
        print(f"wrote {write_page(options.results, options.page, options.newer)}")
        return 0

    return run_script(command)


if __name__ == "__main__":
    sys.exit(main())
