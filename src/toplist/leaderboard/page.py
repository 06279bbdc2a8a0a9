"""Writes a leaderboard as one HTML page, with tables that can be sorted and a picture, and no other file."""

from __future__ import annotations

from typing import Any

from toplist import __version__
from toplist.leaderboard.board import Leaderboard, kilobytes, machine, suite_name
from toplist.support.files import AnyPath, write_text
from toplist.support.machine import code_commit
from toplist.support.pages import page_environment


def write_page(board: Leaderboard, path: AnyPath, command: str = "") -> None:
    """Write the page of a leaderboard (needs the extra `report`).

    Parameters
    ----------
    board : Leaderboard
        The leaderboard.
    path : str or path-like
        The HTML file.
    command : str, optional
        The command that made it, to be shown.
    """
    write_text(path, "The page", page_text(board, command))


def page_text(board: Leaderboard, command: str = "") -> str:
    """The whole HTML file."""
    return page_environment("toplist.leaderboard").get_template("leaderboard.html").render(
        divisions=[division(board, name) for name in board.divisions()],
        problems=[
            {"problem": problem, "rows": board.on_problem(problem.name)} for problem in board.problems
        ],
        violated={each.label: board.violated(each.label) for each in board.contenders},
        settings=board.settings, suite=suite_name(board.settings), machine=machine(), command=command,
        version=__version__, commit=code_commit(),
    )  # fmt: skip


def division(board: Leaderboard, name: str) -> dict[str, Any]:
    """The rows of a division: standings at the last horizon, regret at the others, and costs."""
    horizons = [int(steps) for steps in board.horizons]
    earlier = [{each.label: each.score for each in board.overall(name, at)} for at in range(len(horizons) - 1)]
    names = {problem.name for problem in board.divisions()[name]}
    rows = []
    for each in board.overall(name):
        microseconds, size = board.cost(each.label, name)
        rows.append(
            {
                "standing": each, "before": [scores[each.label] for scores in earlier], "microseconds": microseconds,
                "kilobytes": kilobytes(size), "violated": len(names & board.violated(each.label).keys()),
                "own": next(one.own for one in board.contenders if one.label == each.label),
            }
        )  # fmt: skip
    return {"name": name, "problems": len(names), "horizons": horizons, "rows": rows}
