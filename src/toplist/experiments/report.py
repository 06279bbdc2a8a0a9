"""The report of a folder of results: one HTML file with a page per paper, which needs nothing else and no network."""

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
    SIGNS,
    Chapter,
    Entry,
    chapters,
    machine,
    moment,
    regrets,
    several,
    tally,
)
from toplist.experiments.run_experiment import Verdict, spelled
from toplist.experiments.verdicts import RULES
from toplist.support.files import slug, write_text
from toplist.support.progress_bar import duration_text
from toplist.support.tables import count_text

REPORT = "report.html"
LARGE = 9.0  # inches: from here on a figure has several panels in a row, and half a page is too small for it
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
MEANINGS = {
    Outcome.MET: "The claim holds as the paper has it.",
    Outcome.SCALED: "It holds where the policies explore more or less than the paper says; the remark says how much.",
    Outcome.SUBSTITUTE: "It holds, on other data than the paper's.",
    Outcome.UNDECIDED: "So many runs of so many steps do not tell.",
    Outcome.NOT_MET: "It does not hold here; the remark says why that may be.",
    Outcome.NEEDS_DATA: "It cannot be played without data that were not there.",
    NEVER: "Nobody has played it yet.",
}


def write(folder: Path) -> Path:
    """Write the report of everything in a folder into it; where it is."""
    path = folder / REPORT
    write_text(path, "The report", page(chapters(folder)))
    return path


def page(book: Sequence[Chapter]) -> str:
    """The whole file."""
    entries = [entry for chapter in book for entry in chapter.entries]
    style = (files("toplist.experiments") / "report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>The papers, played again</title>",
            f"<style>\n{style}{here(book)}</style></head>",
            "<body>",
            *navigation(book),
            '<main><span id="everything"></span>',
            *front(book, entries),
            *(line for chapter in book for line in of_paper(chapter)),
            "</main></body></html>",
            "",
        ]
    )


def here(book: Sequence[Chapter]) -> str:
    """The style that tells in the navigation which page is shown."""
    shown = [f'body:has(#{identifier(key)}:target, #{identifier(key)} :target) nav a[href="#{identifier(key)}"]'
             for key in (chapter.key for chapter in book)]  # fmt: skip
    shown.append('body:not(:has(:target)) nav a[href="#overview"], body:has(#overview:target) nav a[href="#overview"]')
    return f"{', '.join(shown)} {{ background: var(--code); font-weight: 600; }}\n"


def navigation(book: Sequence[Chapter]) -> list[str]:
    """The way to each page."""
    links = ['<li><a href="#overview">Overview</a></li>']
    for chapter in book:
        done = sum(entry.played is not None for entry in chapter.entries)
        told = f'<span title="experiments played, of all">{done}/{len(chapter.entries)}</span>'
        links.append(f'<li><a href="#{identifier(chapter.key)}">{escape(chapter.key)} {told}</a></li>')
    links.append('<li class="last"><a href="#everything">All on one page</a></li>')
    return ['<nav aria-label="Pages"><strong>Played again</strong><ul>', *links, "</ul></nav>"]


def front(book: Sequence[Chapter], entries: Sequence[Entry]) -> list[str]:
    """What came out of everything, at a glance."""
    found = tally(entries)
    segments = [f'<span class="{kind(state)}" style="flex:{n}">{n}</span>' for state, n in found.items()]
    counts = [f"<li>{badge(state)} {n}</li>" for state, n in found.items()]
    states = [claim.outcome for entry in entries if entry.played is not None for claim in entry.played.claims]
    claims = f"{states.count(Outcome.MET)} of {count_text(len(states), 'claim')} are met as printed" if states else ""
    held = sum(state in (Outcome.SCALED, Outcome.SUBSTITUTE) for state in states)
    more = f", and {held} with the exploration scaled or on substitute data" if held else ""
    lead = (
        f"{len(entries)} tables and figures of {count_text(len(book), 'paper')}, each played again and judged by "
        f"numeric tests. An experiment is as good as the worst of its claims. "
    )
    return [
        '<section class="page" id="overview">',
        "<h1>The papers, played again</h1>",
        f'<p class="lead">{lead}{claims}{more}{"." if claims else ""}</p>',
        f'<div class="bar" aria-hidden="true">{"".join(segments)}</div>',
        f'<ul class="tally">{"".join(counts)}</ul>',
        *summary(book, entries),
        *meanings(found, states),
        "</section>",
    ]


def summary(book: Sequence[Chapter], entries: Sequence[Entry]) -> list[str]:
    """The table of all experiments, with the times of all parts and of everything."""
    lines = [
        '<div class="summary wide"><table>',
        "<thead><tr><th>Experiment</th><th>What it is</th><th>Verdict</th>",
        '<th class="number">Claims met</th><th class="number">Time</th></tr></thead>',
    ]
    for chapter in book:
        title = f'<a href="#{identifier(chapter.key)}">{escape(chapter.paper.title)}</a>'
        lines += [
            f'<tbody><tr><th colspan="4">{title} <span class="quiet">{escape(chapter.paper.venue)}</span></th>',
            f'<th class="number quiet">{took(chapter.entries)}</th></tr>',
            *(row(entry) for entry in chapter.entries),
            "</tbody>",
        ]
    done = f"{sum(entry.played is not None for entry in entries)} of {len(entries)} played"
    lines += [
        f'<tfoot><tr><td>Everything</td><td>{done}</td><td></td><td></td><td class="number">{took(entries)}</td></tr>',
        "</tfoot></table></div>",
    ]
    verdicts = [entry.verdict for entry in entries if entry.verdict is not None]
    ends = sorted(verdict.finished for verdict in verdicts if verdict.finished)
    period = " to ".join(several(map(moment, (ends[0], ends[-1])))) if ends else ""
    again = (
        "<code>toplist reproduce --all --data FOLDER</code>; with <code>--results</code>, if not in the usual folder"
    )
    return [
        *lines,
        '<dl class="facts front-facts">',
        *facts(
            {
                "Finished": escape(period),
                "Version": escape(", ".join(several(f"toplist {verdict.version}" for verdict in verdicts))),
                "Machine": escape("; ".join(several(map(machine, verdicts)))),
                "All of it again": again,
            }
        ),
        "</dl>",
    ]


def row(entry: Entry) -> str:
    """An experiment in the table."""
    quick = ' <span class="quiet">quick</span>' if entry.played is not None and entry.played.size.quick else ""
    how = f'<br><span class="quiet">{prose(entry.how)}</span>' if entry.how else ""
    link = f'<a href="#{identifier(entry.name)}">{escape(entry.name)}</a>'
    return (
        f"<tr><td>{link}</td><td>{prose(entry.experiment.title)}{how}</td><td>{badge(entry.state)}{quick}</td>"
        f'<td class="number">{entry.met()}</td><td class="number">{took([entry])}</td></tr>'
    )


def meanings(found: Iterable[str], claims: Iterable[str]) -> list[str]:
    """What the verdicts mean; those that there are."""
    there = {*found, *map(str, claims)}
    lines = [f"<li>{badge(state)} <span>{text}</span></li>" for state, text in MEANINGS.items() if str(state) in there]
    rules = [f"<li><span>{prose(rule)}</span></li>" for rule in RULES]
    return [
        '<div class="notes"><h4>How to read the verdicts</h4><ul>', *lines,
        "</ul><h4>What decides</h4><ul class=\"rules\">", *rules, "</ul></div>",
    ]  # fmt: skip


def of_paper(chapter: Chapter) -> list[str]:
    """The page of a paper."""
    paper = chapter.paper
    about = ", ".join(several([escape(paper.authors), escape(paper.venue)]))
    counts = [f"<li>{badge(state)} {n}</li>" for state, n in tally(chapter.entries).items()]
    return [
        f'<section class="page" id="{identifier(chapter.key)}">',
        f"<h2>{escape(paper.title)}</h2>",
        f'<p class="quiet">{about}{" · " if about else ""}{took(chapter.entries) or "not played"}</p>',
        f'<ul class="tally">{"".join(counts)}</ul>',
        *(line for entry in chapter.entries for line in of_experiment(entry)),
        "</section>",
    ]


def of_experiment(entry: Entry) -> list[str]:
    """An experiment: the figure beside its claims, what deviates, how it was played, and how to do it again."""
    lines = [
        f'<article id="{identifier(entry.name)}">',
        f"<header><h3>{prose(entry.experiment.title)}</h3>",
        f"<p><code>{escape(entry.name)}</code> {badge(entry.state)}</p></header>",
        f'<p class="setting">{prose(entry.experiment.setting)}</p>',
    ]
    if entry.how:
        lines.append(f"<p>{prose(entry.how)} Then name its folder with <code>--data</code>.</p>")
    deviating = [f"<li>{prose(text)}</li>" for text in entry.experiment.deviations]
    deviations = f"<ul>{''.join(deviating)}</ul>" if deviating else '<p class="quiet">Nothing that we know of.</p>'
    more = [
        f"<section><h4>What deviates from the paper, and why</h4>{deviations}</section>",
        *(ends(entry.played) if entry.played else []),
        *(played_how(entry.played) if entry.played else []),
        f"<section><h4>Run it{' again' if entry.played else ''}</h4>"
        f"<pre><code>{escape(entry.command())}</code></pre></section>",
    ]
    if entry.played is None:
        body = ['<div class="beside">', *more, "</div>"]
    elif entry.experiment.inches[0] >= LARGE:
        body = ['<div class="beside large">', picture(entry), *claims(entry.played), "<div>", *more, "</div></div>"]
    else:
        body = ['<div class="beside"><div>', picture(entry), *more, "</div>", *claims(entry.played), "</div>"]
    return [*lines, *body, "</article>"]


def picture(entry: Entry) -> str:
    """The figure, in the form that is smaller; as a picture of its own, so that no identifiers meet."""
    drawn = [path for suffix in KINDS if (path := entry.figure(suffix)) is not None]
    if not drawn:
        return (
            '<div class="none">No figure was drawn: <code>pip install "toplist[plots]"</code>, and run it again.</div>'
        )
    path = min(drawn, key=lambda each: each.stat().st_size)
    data = base64.b64encode(path.read_bytes()).decode()
    words = escape(f"Figure of {entry.name}: {entry.experiment.title}")
    return f'<figure><img alt="{words}" src="data:{KINDS[path.suffix]};base64,{data}"></figure>'


def claims(verdict: Verdict) -> list[str]:
    """The table of what the paper says, and how it comes out."""
    rows = "".join(map(claimed, verdict.claims))
    head = "<thead><tr><th>Verdict</th><th>What the paper says</th><th>What was found</th></tr></thead>"
    return [f'<div class="claims wide"><table>{head}<tbody>{rows}</tbody></table></div>']


def claimed(claim: Claim) -> str:
    """A claim in that table."""
    remark = f"<small>{prose(claim.remark)}</small>" if claim.remark else ""
    return f"<tr><td>{badge(claim.outcome)}</td><td>{prose(claim.text)}{remark}</td><td>{prose(claim.number)}</td></tr>"


def ends(verdict: Verdict) -> list[str]:
    """Where the curves end."""
    heads, *rows = regrets(verdict) or [[]]
    if not rows:
        return []
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    told = "Regret where the curves end, with its standard error"
    return [
        f'<section class="ends"><details><summary>{told}</summary><div class="wide">{table}</div></details></section>'
    ]


def played_how(verdict: Verdict) -> list[str]:
    """Data, size, time and machine."""
    times = [f"{escape(label)}: {duration_text(seconds)}" for label, seconds in verdict.parts.items()]
    time = duration_text(verdict.seconds)
    if len(times) > 1:
        listed = "".join(f"<li>{each}</li>" for each in times)
        time = f"<details><summary>{time}, in {len(times)} parts</summary><ul>{listed}</ul></details>"
    told = {
        "Data": prose(verdict.data),
        "Substitute": prose(verdict.substitute),
        "Size": escape(spelled(verdict.size)),
        "Time": time,
        "Version": escape(f"toplist {verdict.version}" if verdict.version else ""),
        "Machine": escape(machine(verdict)),
        "Finished": escape(moment(verdict.finished)),
    }
    return ['<section><h4>How it was played</h4><dl class="facts">', *facts(told), "</dl></section>"]


def facts(told: dict[str, str]) -> list[str]:
    """The rows of a list of facts that have something to say."""
    return [f"<dt>{name}</dt><dd>{value}</dd>" for name, value in told.items() if value]


def took(entries: Iterable[Entry]) -> str:
    """How long these took together; nothing where none was played."""
    played = [entry.seconds for entry in entries if entry.played is not None]
    return duration_text(sum(played)) if played else ""


def badge(state: str) -> str:
    """A verdict as a colour, a sign and words."""
    return f'<span class="badge {kind(state)}"><b aria-hidden="true">{SIGNS[state]}</b>{escape(str(state))}</span>'


def kind(state: str) -> str:
    """The name under which the style knows a verdict."""
    return "never-run" if state == NEVER else Outcome(state).name.lower().replace("_", "-")


def identifier(name: str) -> str:
    """A name as an anchor.

    >>> identifier("kveton2015/table1")
    'kveton2015-table1'
    """
    return slug(name.replace("/", "-"))


def prose(text: str) -> str:
    """Plain text as HTML, with what stands in backticks as code.

    >>> prose("a < b, as `x_1`")
    'a &lt; b, as <code>x_1</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
