"""Writes the report of a folder of results: one HTML file with a page per paper, without any other file or network."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from toplist.experiments.experiment import Claim, Outcome
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
from toplist.experiments.verdicts import RULES
from toplist.support.files import slug, write_text
from toplist.support.progress_bar import duration_text
from toplist.support.tables import count_text

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
    style = (files("toplist.experiments") / "report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>Reproduction of the papers</title>",
            f"<style>\n{style}{current_page_style(book)}</style></head>",
            "<body>",
            *navigation(book),
            '<main><span id="everything"></span>',
            *overview(book, entries),
            *(line for chapter in book for line in paper_section(chapter)),
            "</main></body></html>",
            "",
        ]
    )


def current_page_style(book: Sequence[Chapter]) -> str:
    """The style that marks the current page in the navigation."""
    shown = [f'body:has(#{identifier(key)}:target, #{identifier(key)} :target) nav a[href="#{identifier(key)}"]'
             for key in (chapter.key for chapter in book)]  # fmt: skip
    shown.append('body:not(:has(:target)) nav a[href="#overview"], body:has(#overview:target) nav a[href="#overview"]')
    return f"{', '.join(shown)} {{ background: var(--code); font-weight: 600; }}\n"


def navigation(book: Sequence[Chapter]) -> list[str]:
    """The links to all pages."""
    links = ['<li><a href="#overview">Overview</a></li>']
    for chapter in book:
        done = sum(entry.played_verdict is not None for entry in chapter.entries)
        count = f'<span title="experiments played, of all">{done}/{len(chapter.entries)}</span>'
        links.append(f'<li><a href="#{identifier(chapter.key)}">{escape(chapter.key)} {count}</a></li>')
    links.append('<li class="last"><a href="#everything">All on one page</a></li>')
    return ['<nav aria-label="Pages"><strong>Reproduction</strong><ul>', *links, "</ul></nav>"]


def overview(book: Sequence[Chapter], entries: Sequence[ExperimentRecord]) -> list[str]:
    """The overview page: counts, the table of all experiments, and how to read it."""
    found = count_states(entries)
    segments = [f'<span class="{css_class(state)}" style="flex:{n}">{n}</span>' for state, n in found.items()]
    counts = [f"<li>{badge(state)} {n}</li>" for state, n in found.items()]
    states = [
        claim.outcome for entry in entries if entry.played_verdict is not None for claim in entry.played_verdict.claims
    ]
    met = f"{states.count(Outcome.MET)} of {count_text(len(states), 'claim')} are met as printed" if states else ""
    held = sum(state in (Outcome.SCALED, Outcome.SUBSTITUTE) for state in states)
    more = f", and {held} with the exploration scaled or on substitute data" if held else ""
    lead = (
        f"{len(entries)} tables and figures of {count_text(len(book), 'paper')}, each played again and judged by "
        f"numeric tests. The verdict of an experiment is that of its worst claim. "
    )
    return [
        '<section class="page" id="overview">',
        "<h1>Reproduction of the papers</h1>",
        f'<p class="lead">{lead}{met}{more}{"." if met else ""}</p>',
        f'<div class="bar" aria-hidden="true">{"".join(segments)}</div>',
        f'<ul class="tally">{"".join(counts)}</ul>',
        *summary_table(book, entries),
        *meanings(found, states),
        "</section>",
    ]


def summary_table(book: Sequence[Chapter], entries: Sequence[ExperimentRecord]) -> list[str]:
    """The table of all experiments, with times per experiment, paper and in total."""
    lines = [
        '<div class="summary wide"><table>',
        "<thead><tr><th>Experiment</th><th>Content</th><th>Verdict</th>",
        '<th class="number">Claims met</th><th class="number">Time</th></tr></thead>',
    ]
    for chapter in book:
        title = f'<a href="#{identifier(chapter.key)}">{escape(chapter.paper.title)}</a>'
        lines += [
            f'<tbody><tr><th colspan="4">{title} <span class="quiet">{escape(chapter.paper.venue)}</span></th>',
            f'<th class="number quiet">{total_time(chapter.entries)}</th></tr>',
            *(summary_row(entry) for entry in chapter.entries),
            "</tbody>",
        ]
    done = f"{sum(entry.played_verdict is not None for entry in entries)} of {len(entries)} played"
    lines += [
        f"<tfoot><tr><td>Everything</td><td>{done}</td><td></td><td></td>"
        f'<td class="number">{total_time(entries)}</td></tr>',
        "</tfoot></table></div>",
    ]
    verdicts = [entry.verdict for entry in entries if entry.verdict is not None]
    times = sorted(verdict.finished for verdict in verdicts if verdict.finished)
    period = " to ".join(unique_texts(map(time_text, (times[0], times[-1])))) if times else ""
    again = (
        "<code>toplist reproduce --all --data FOLDER</code>, with <code>--results</code> for another folder of results"
    )
    return [
        *lines,
        '<dl class="facts front-facts">',
        *fact_rows(
            {
                "Finished": escape(period),
                "Version": escape(", ".join(unique_texts(f"toplist {verdict.version}" for verdict in verdicts))),
                "Machine": escape("; ".join(unique_texts(map(machine_text, verdicts)))),
                "Run all again": again,
            }
        ),
        "</dl>",
    ]


def summary_row(entry: ExperimentRecord) -> str:
    """The row of an experiment in that table."""
    quick = (
        ' <span class="quiet">quick</span>'
        if entry.played_verdict is not None and entry.played_verdict.size.quick
        else ""
    )
    how = f'<br><span class="quiet">{html_text(entry.data_advice)}</span>' if entry.data_advice else ""
    link = f'<a href="#{identifier(entry.name)}">{escape(entry.name)}</a>'
    return (
        f"<tr><td>{link}</td><td>{html_text(entry.experiment.title)}{how}</td><td>{badge(entry.state)}{quick}</td>"
        f'<td class="number">{entry.claims_met()}</td><td class="number">{total_time([entry])}</td></tr>'
    )


def meanings(found: Iterable[str], claims: Iterable[str]) -> list[str]:
    """The meanings of the verdicts on the page, and the rules of all tests."""
    present = {*found, *map(str, claims)}
    lines = [
        f"<li>{badge(state)} <span>{text}</span></li>" for state, text in MEANINGS.items() if str(state) in present
    ]
    rules = [f"<li><span>{html_text(rule)}</span></li>" for rule in RULES]
    return [
        '<div class="notes"><h4>How to read the verdicts</h4><ul>', *lines,
        "</ul><h4>Rules of the tests</h4><ul class=\"rules\">", *rules, "</ul></div>",
    ]  # fmt: skip


def paper_section(chapter: Chapter) -> list[str]:
    """The page of a paper."""
    paper = chapter.paper
    about = ", ".join(unique_texts([escape(paper.authors), escape(paper.venue)]))
    counts = [f"<li>{badge(state)} {n}</li>" for state, n in count_states(chapter.entries).items()]
    return [
        f'<section class="page" id="{identifier(chapter.key)}">',
        f"<h2>{escape(paper.title)}</h2>",
        f'<p class="quiet">{about}{" · " if about else ""}{total_time(chapter.entries) or "not played"}</p>',
        f'<ul class="tally">{"".join(counts)}</ul>',
        *(line for entry in chapter.entries for line in experiment_article(entry)),
        "</section>",
    ]


def experiment_article(entry: ExperimentRecord) -> list[str]:
    """An experiment: figure, claims, deviations from the paper, facts on the run, and the command."""
    lines = [
        f'<article id="{identifier(entry.name)}">',
        f"<header><h3>{html_text(entry.experiment.title)}</h3>",
        f"<p><code>{escape(entry.name)}</code> {badge(entry.state)}</p></header>",
        f'<p class="setting">{html_text(entry.experiment.setting)}</p>',
    ]
    if entry.data_advice:
        lines.append(f"<p>{html_text(entry.data_advice)} Then name its folder with <code>--data</code>.</p>")
    deviating = [f"<li>{html_text(text)}</li>" for text in entry.experiment.deviations]
    deviations = f"<ul>{''.join(deviating)}</ul>" if deviating else '<p class="quiet">None known.</p>'
    more = [
        f"<section><h4>Deviations from the paper</h4>{deviations}</section>",
        *(regret_section(entry.played_verdict) if entry.played_verdict else []),
        *(run_facts(entry.played_verdict) if entry.played_verdict else []),
        f"<section><h4>Run it{' again' if entry.played_verdict else ''}</h4>"
        f"<pre><code>{escape(entry.command())}</code></pre></section>",
    ]
    if entry.played_verdict is None:
        body = ['<div class="beside">', *more, "</div>"]
    elif entry.experiment.inches[0] >= LARGE:
        body = [
            '<div class="beside large">',
            figure_html(entry),
            *claims_table(entry.played_verdict),
            "<div>",
            *more,
            "</div></div>",
        ]
    else:
        body = [
            '<div class="beside"><div>',
            figure_html(entry),
            *more,
            "</div>",
            *claims_table(entry.played_verdict),
            "</div>",
        ]
    return [*lines, *body, "</article>"]


def figure_html(entry: ExperimentRecord) -> str:
    """The figure, PNG or SVG, whichever is smaller; as an image, so that ids of several SVGs cannot clash."""
    drawn = [path for suffix in KINDS if (path := entry.figure(suffix)) is not None]
    if not drawn:
        return (
            '<div class="none">No figure was drawn: <code>pip install "toplist[plots]"</code>, and run it again.</div>'
        )
    path = min(drawn, key=lambda each: each.stat().st_size)
    data = base64.b64encode(path.read_bytes()).decode()
    words = escape(f"Figure of {entry.name}: {entry.experiment.title}")
    return f'<figure><img alt="{words}" src="data:{KINDS[path.suffix]};base64,{data}"></figure>'


def claims_table(verdict: Verdict) -> list[str]:
    """The table of claims."""
    rows = "".join(map(claim_row, verdict.claims))
    head = "<thead><tr><th>Verdict</th><th>Claim of the paper</th><th>Found</th></tr></thead>"
    return [f'<div class="claims wide"><table>{head}<tbody>{rows}</tbody></table></div>']


def claim_row(claim: Claim) -> str:
    """The row of a claim in that table."""
    remark = f"<small>{html_text(claim.remark)}</small>" if claim.remark else ""
    number = html_text(claim.number)
    return f"<tr><td>{badge(claim.outcome)}</td><td>{html_text(claim.text)}{remark}</td><td>{number}</td></tr>"


def regret_section(verdict: Verdict) -> list[str]:
    """The table of final regrets."""
    heads, *rows = regret_table(verdict) or [[]]
    if not rows:
        return []
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    title = "Regret at the last step, with its standard error"
    return [
        f'<section class="ends"><details><summary>{title}</summary><div class="wide">{table}</div></details></section>'
    ]


def run_facts(verdict: Verdict) -> list[str]:
    """Data, size, time and machine of a run."""
    times = [f"{escape(label)}: {duration_text(seconds)}" for label, seconds in verdict.parts.items()]
    time = duration_text(verdict.seconds)
    if len(times) > 1:
        listed = "".join(f"<li>{each}</li>" for each in times)
        time = f"<details><summary>{time}, in {len(times)} parts</summary><ul>{listed}</ul></details>"
    rows = {
        "Data": html_text(verdict.data),
        "Substitute": html_text(verdict.substitute),
        "Size": escape(size_text(verdict.size)),
        "Time": time,
        "Version": escape(f"toplist {verdict.version}" if verdict.version else ""),
        "Machine": escape(machine_text(verdict)),
        "Finished": escape(time_text(verdict.finished)),
    }
    return ['<section><h4>How it was played</h4><dl class="facts">', *fact_rows(rows), "</dl></section>"]


def fact_rows(facts: dict[str, str]) -> list[str]:
    """The rows of a list of facts; empty ones are left out."""
    return [f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items() if value]


def badge(state: str) -> str:
    """A verdict as coloured sign and words."""
    return f'<span class="badge {css_class(state)}"><b aria-hidden="true">{SIGNS[state]}</b>{escape(str(state))}</span>'


def css_class(state: str) -> str:
    """The CSS class of a verdict."""
    return "never-run" if state == NEVER else Outcome(state).name.lower().replace("_", "-")


def identifier(name: str) -> str:
    """A name as an HTML anchor.

    >>> identifier("kveton2015/table1")
    'kveton2015-table1'
    """
    return slug(name.replace("/", "-"))


def html_text(text: str) -> str:
    """Plain text as HTML; text in backticks becomes code.

    >>> html_text("a < b, as `x_1`")
    'a &lt; b, as <code>x_1</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
