"""Writes an advice, or a proof of one, as one HTML page with pictures and without any other file or network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist import __version__
from toplist.advice.pictures import Estimated, draw_estimates, draw_gains, draw_rates
from toplist.logs.comparison.page import data_url
from toplist.support.files import AnyPath, write_text
from toplist.support.pages import page_environment

if TYPE_CHECKING:
    from toplist.advice.answer import Advice  # it offers this page itself
    from toplist.advice.proof import Proof


def write_page(advice: Advice, path: AnyPath, command: str = "") -> None:
    """Write the page of an advice (needs the extras `report` and `plots`).

    Parameters
    ----------
    advice : Advice
        The advice.
    path : str or path-like
        The HTML file.
    command : str, optional
        The command that asked for it, to be shown.
    """
    write_text(path, "The page", page_text(advice, command))


def page_text(advice: Advice, command: str = "") -> str:
    """The whole HTML file of an advice."""
    names = advice.three_best
    every = [
        Estimated(name, *(100.0 * each for each in advice.outcome.relative_gain(name)))
        for name in advice.outcome.ranking()
    ]
    pictures = {
        "rates": draw_rates(advice.outcome, names),
        "gains": draw_gains(advice.outcome, names),
        "policies": draw_estimates(every, "gain over the logged ranking, percent of its clicks"),
    }
    return page_environment("toplist.advice").get_template("advice.html").render(
        advice=advice,
        table=advice.table(),
        moments=advice.moments(),
        pictures={name: data_url(figure) for name, figure in pictures.items()},
        command=command,
        version=__version__,
    )  # fmt: skip


def write_proof_page(proof: Proof, path: AnyPath, command: str = "") -> None:
    """Write the page of a proof (needs the extras `report` and `plots`).

    Parameters
    ----------
    proof : Proof
        The proof.
    path : str or path-like
        The HTML file.
    command : str, optional
        The command that asked for it, to be shown.
    """
    names = proof.advice.three_best
    pictures = {
        "advice": draw_estimates(proof.advised, "clicks per list"),
        "offline": draw_estimates(proof.offline, "clicks per list"),
        "gains": draw_gains(proof.advice.outcome, names),
    }
    text = page_environment("toplist.advice").get_template("proof.html").render(
        proof=proof,
        pictures={name: data_url(figure) for name, figure in pictures.items()},
        command=command,
        version=__version__,
    )  # fmt: skip
    write_text(path, "The page", text)
