"""Writes the report of a folder of results: one HTML file with a page per paper, without any other file or network.

The HTML is in `templates/`; every text is escaped there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.experiments.experiment import Outcome
from toplist.experiments.papers import NEWER
from toplist.experiments.results_folder import (
    NEVER,
    REPORT,
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
from toplist.support.files import slug, write_text
from toplist.support.pages import page_environment
from toplist.support.progress_bar import duration_text
from toplist.support.tables import count_text

if TYPE_CHECKING:
    from jinja2 import Environment

LARGE = 9.0  # inches: a figure of this width has several panels in a row and needs the whole width of the page
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
MEANINGS = {
    Outcome.MET: "The claim holds as printed.",
    Outcome.SCALED: "It holds if the policies explore more or less than in the paper; the remark says how much.",
    Outcome.SUBSTITUTE: "It holds on other data than those of the paper.",
    Outcome.UNDECIDED: "The number of runs and steps is too small to decide.",
    Outcome.NOT_MET: "It does not hold; the remark gives a possible reason.",
    Outcome.NEEDS_DATA: "It needs a data set that was missing.",
    NEVER: "It was not played yet.",
}


def write_report(folder: Path) -> Path:
    """Write the report of a folder of results into the folder; return its path."""
    path = folder / REPORT
    write_text(path, "The report", page(chapters(folder)))
    return path


def page(book: Sequence[Chapter]) -> str:
    """The whole HTML file."""
    entries = [entry for chapter in book for entry in chapter.entries]
    verdicts = [entry.verdict for entry in entries if entry.verdict is not None]
    claims = [claim.outcome for entry in entries if entry.played_verdict for claim in entry.played_verdict.claims]
    states = count_states(entries)
    present = {*states, *map(str, claims)}
    return environment().get_template("report.html").render(
        book=book,
        entries=entries,
        states=states,
        lead=lead(book, entries, claims),
        front_facts=front_facts(verdicts),
        meanings={state: text for state, text in MEANINGS.items() if str(state) in present},
        rules=RULES if all(chapter.key == NEWER for chapter in book) else FIVE_PAPERS_RULES,
        large=LARGE,
    )  # fmt: skip


def environment() -> Environment:
    """The templates with autoescape, and the functions that they call."""
    made = page_environment("toplist.experiments")
    made.globals["signs"] = SIGNS
    filters: dict[str, Any] = {
        "anchor": identifier,
        "count_states": count_states,
        "css_class": css_class,
        "duration_text": duration_text,
        "figure_data": figure_data,
        "origin": origin,
        "played": played,
        "regret_table": regret_table,
        "size_text": size_text,
        "source": source,
        "total_time": total_time,
    }
    made.filters.update(filters)
    return made


def lead(book: Sequence[Chapter], entries: Sequence[ExperimentRecord], claims: Sequence[Outcome]) -> str:
    """The first sentences of the overview."""
    text = (
        f"{len(entries)} tables and figures of {count_text(len(book), 'paper')}, each played again and judged by "
        f"numeric tests. The verdict of an experiment is that of its worst claim."
    )
    if not claims:
        return text
    met = f"{claims.count(Outcome.MET)} of {count_text(len(claims), 'claim')} are met as printed"
    held = sum(claim in (Outcome.SCALED, Outcome.SUBSTITUTE) for claim in claims)
    more = f", and {held} with the exploration scaled or on substitute data" if held else ""
    return f"{text} {met}{more}."


def front_facts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Time, version and machine of all verdicts, and the command that plays everything."""
    times = sorted(verdict.finished for verdict in verdicts if verdict.finished)
    return {
        "Finished": " to ".join(unique_texts(map(time_text, (times[0], times[-1])))) if times else "",
        "Version": ", ".join(unique_texts(f"toplist {verdict.version}" for verdict in verdicts)),
        "Machine": "; ".join(unique_texts(map(machine_text, verdicts))),
        "Run all again": "`toplist reproduce --all --data FOLDER`, with `--results` for another folder of results",
    }


def played(entries: Iterable[ExperimentRecord]) -> int:
    """The number of experiments that were played."""
    return sum(entry.played_verdict is not None for entry in entries)


def source(chapter: Chapter) -> str:
    """Authors, venue and total time of a paper."""
    about = ", ".join(unique_texts([chapter.paper.authors, chapter.paper.venue]))
    return " · ".join(unique_texts([about, total_time(chapter.entries) or "not played"]))


def figure_data(entry: ExperimentRecord) -> str:
    """The figure as a data URL, PNG or SVG, whichever is smaller; empty if none was drawn.

    It is an image of its own, so that the ids of several SVGs cannot clash.
    """
    drawn = [path for suffix in KINDS if (path := entry.figure(suffix)) is not None]
    if not drawn:
        return ""
    path = min(drawn, key=lambda each: each.stat().st_size)
    return f"data:{KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def origin(verdict: Verdict) -> dict[str, str]:
    """Version, machine and time of a verdict."""
    return {
        "Version": f"toplist {verdict.version}" if verdict.version else "",
        "Machine": machine_text(verdict),
        "Finished": time_text(verdict.finished),
    }


def css_class(state: str) -> str:
    """The CSS class of a verdict."""
    return "never-run" if state == NEVER else Outcome(state).name.lower().replace("_", "-")


def identifier(name: str) -> str:
    """A name as an HTML anchor.

    >>> identifier("kveton2015/table1")
    'kveton2015-table1'
    """
    return slug(name.replace("/", "-"))
