"""The advice: which policy to take, what it earns, how sure that is, and what would change it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toplist.advice.drift import Drift
from toplist.advice.outcome import AdviceOutcome
from toplist.advice.query_worlds import FRACTIONS
from toplist.advice.ready import ReadyRanking
from toplist.advice.situation import Situation
from toplist.advice.stacking import Stacking
from toplist.support.catalogue import POLICIES, call_text
from toplist.support.files import AnyPath, write_text
from toplist.support.tables import Table, count_text

SWITCH, STAY, UNKNOWN = "switch", "stay", "cannot tell"
WORTH = 0.01  # share of the logged clicks: smaller gains are not worth a change
MATTERS = 0.05  # a gain that would be a pity to miss
SHOWN = 3  # policies
FEW_CLICKS = 30  # in a log: from fewer, fits say little, and their errors are not normal
MOMENTS = (0.01, 0.1, 0.25, 0.5, 1.0)  # fractions of the horizon in the table over time
LONG_NAME = 40  # characters; parameters of longer ones are left out of tables
LEGEND = (
    "gain: clicks per list more than the logged ranking, and its 95% interval (low, high).",
    "pays after: lists until more is gained than learning has cost; 0: from the start, -: not within the horizon.",
    "loss: the most clicks behind the logged ranking on the way, expected and at worst.",
)


@dataclass(frozen=True, eq=False)
class Advice:
    """What to do with the page of a log; `toplist.advise` gives one.

    Parameters
    ----------
    log : str
        A line of counts of the log.
    situation : Situation
        The page, its traffic and the horizon.
    stacking : Stacking
        The weights of the click models.
    drift : Drift
        Whether and how the log moved.
    outcome : AdviceOutcome
        What the policies earned on the fitted visitors.
    reasons : mapping of str to str
        Why each policy was played.
    ready : ReadyRanking
        Settings, items and priors of the best policy.
    settings : mapping
        Trust, seed and so on.
    warnings : tuple of str
        What else to keep in mind.
    scales : mapping of str to float
        Factor of the prior means by the reading of a policy.
    """

    log: str
    situation: Situation
    stacking: Stacking
    drift: Drift
    outcome: AdviceOutcome
    reasons: Mapping[str, str]
    ready: ReadyRanking
    settings: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    scales: Mapping[str, float] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The policy with the most expected clicks."""
        return self.outcome.ranking()[0]

    @property
    def three_best(self) -> list[str]:
        """The three policies with the most expected clicks."""
        return self.outcome.ranking()[:SHOWN]

    @property
    def clicks(self) -> float:
        """Number of clicks in the log, on the positions of the page."""
        return self.situation.clicks

    @property
    def verdict(self) -> str:
        """ "switch" to the best policy, "stay", or "cannot tell".

        Switch: the best policy gains at least 1% of the clicks, and the interval of its gain is above 0. Stay: it is
        expected to gain less than 1%, and the interval ends below 5%. Otherwise the log cannot tell, and neither can
        one with fewer than 30 clicks.
        """
        if self.clicks < FEW_CLICKS:
            return UNKNOWN
        mean, low, high = self.outcome.relative_gain(self.best)
        if mean < WORTH and high < MATTERS:
            return STAY
        return SWITCH if mean >= WORTH and low > 0.0 else UNKNOWN

    def headline(self) -> str:
        """The advice in a sentence."""
        mean, low, high = self.outcome.relative_gain(self.best)
        interval = f"{mean:+.1%}, 95%: {low:+.1%} to {high:+.1%}"
        if self.verdict == SWITCH:
            return f"Switch to {self.best}: {interval} of the clicks."
        if self.verdict == STAY:
            return f"Stay with the ranking of the log: the best policy gains less than {WORTH:.0%} ({interval})."
        few = f" from {count_text(round(self.clicks), 'click')}" if self.clicks < FEW_CLICKS else ""
        return f"The log cannot tell{few} whether a switch pays: the best policy, {self.best}, gains {interval}."

    def table(self) -> Table:
        """The three best policies, the logged ranking and the best list.

        Returns
        -------
        Table
            Clicks per list over the horizon; the gain over the logged ranking with its 95% interval; after how many
            lists it has paid; the most clicks behind on the way, expected and at worst.
        """
        rows: list[tuple[Any, ...]] = []
        for name in self.three_best:
            clicks, gain = self.outcome.clicks(name).last(), self.outcome.gain(name).last()
            paid = self.outcome.pays_after(name)
            loss = map(round, self.outcome.worst_loss(name))
            rows.append((short_name(name), clicks[0], *gain, None if paid is None else round(paid), *loss))
        for name, found in (("logged ranking", self.outcome.logged()), ("best list", self.outcome.best())):
            rows.append((name, float(found.mean[-1]), *[None] * 6))
        columns = ("policy", "clicks/list", "gain", "low", "high", "pays after", "loss", "at worst")
        return Table(f"Over {self.situation.duration(self.situation.horizon)}", columns, rows, 4)

    def moments(self) -> Table:
        """Clicks per list over time: between one moment and the next, not from the beginning."""
        rows = []
        known = {name: self.outcome.clicks(name).mean for name in self.three_best}
        known |= {"logged ranking": self.outcome.logged().mean, "best list": self.outcome.best().mean}
        for name, curve in known.items():
            reached = np.interp((0.0, *MOMENTS), np.append(0.0, FRACTIONS), np.append(0.0, curve))
            rows.append((short_name(name), *np.diff(reached) / np.diff((0.0, *MOMENTS))))
        columns = ("policy", *(f"to {moment:.0%}" for moment in MOMENTS))
        return Table("Clicks per list over time, by share of the horizon", columns, rows, 4)

    def what_would_change_it(self) -> list[str]:
        """Sentences on what would change the advice."""
        best, outcome, found = self.best, self.outcome, []
        mean, low, _ = outcome.relative_gain(best)
        if self.clicks < FEW_CLICKS:
            found.append(f"A log with more clicks than these {self.clicks:,.0f}: at least {FEW_CLICKS} are needed.")
        elif self.verdict == UNKNOWN and mean > 0:
            more = max(1.1, ((mean - low) / mean) ** 2)
            found.append(
                f"A log of about {more:,.{1 if more < 10 else 0}f} times as many lists, if the gain is as expected."
            )
        for fraction in (0.01, 0.1):
            point = int(np.searchsorted(FRACTIONS, fraction * 0.999))
            other = outcome.ranking(point)[0]
            if other != best:
                lists = self.situation.duration(fraction * self.situation.horizon)
                found.append(f"A shorter horizon: over {lists}, {other} earns more.")
                break
        for model in sorted(set(outcome.models)):
            other = outcome.ranking(model=model)[0]
            if other != best:
                weight = self.stacking.weights[model]
                found.append(f"If visitors behave as {model} says (weight {weight:.0%}), {other} earns more.")
        if self.drift.breaks:
            found.append("Tastes that stay as they are now: the log changed, and so do the simulated visitors.")
        else:
            found.append("Tastes that change: none were seen to, so that policies that forget were not played.")
        return found

    def parameters(self, name: str) -> str:
        """A policy with all of its parameters, those with their defaults included.

        Parameters
        ----------
        name : str
            One of the policies that were played.

        Returns
        -------
        str
            As `toplist.make` takes it.
        """
        entry, given = POLICIES.find(name)
        return call_text(entry.name, entry.parameters | given)

    def command(self, file: str = "ready.json") -> str:
        """The command that starts the advised policy, from the file of the ready ranking."""
        code = f"from toplist.advice import read_ready; rankers = read_ready({json.dumps(file)}).rankers()"
        return f"python -i -c {shlex.quote(code)}"

    def models_text(self) -> str:
        """The click models with their weights, the heaviest first; those below 0.5% are left out."""
        weights = sorted(self.stacking.weights.items(), key=lambda each: -each[1])
        return ", ".join(f"{name} {weight:.0%}" for name, weight in weights if weight >= 0.005)

    def drift_text(self) -> str:
        """What was found about drift."""
        if self.drift.breaks:
            breaks = ", ".join(f"{each:.0%}" for each in self.drift.breaks)
            moved = f"{len(self.drift.moved)} of {self.drift.watched} items moved"
            return f"the log breaks at {breaks} of its lists; {moved}"
        if not self.drift.watched:
            return "not looked for, since no item is seen often enough at known times"
        return f"no breaks found, {count_text(self.drift.watched, 'item')} watched"

    def __str__(self) -> str:
        reason = self.reasons.get(self.best, "")
        parts = [
            self.headline(), f"{self.best}: {reason}.", "", str(self.table()), *LEGEND, "", str(self.moments()), "",
            f"Click models, weighed by held-out lists: {self.models_text()}.", f"Drift: {self.drift_text()}.",
            "What would change the advice:", *(f"- {each}" for each in self.what_would_change_it()),
            *(f"Note: {each}" for each in self.warnings),
        ]  # fmt: skip
        return "\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        outcome = self.outcome
        curves = {name: outcome.clicks(name) for name in outcome.ranking()}
        curves |= {"logged ranking": outcome.logged(), "best list": outcome.best()}
        return {
            "verdict": self.verdict, "headline": self.headline(), "best": self.best, "log": self.log,
            "situation": self.situation._asdict(), "models": self.stacking.weights, "settings": dict(self.settings),
            "drift": {"breaks": list(self.drift.breaks), "moved": len(self.drift.moved), "watched": self.drift.watched},
            "policies": {name: self._policy_json(name) for name in outcome.ranking()},
            "lists": (FRACTIONS * outcome.horizon).tolist(),
            "clicks": {
                name: {"mean": each.mean.tolist(), "low": each.low.tolist(), "high": each.high.tolist()}
                for name, each in curves.items()
            },
            "would_change": self.what_would_change_it(), "warnings": list(self.warnings),
        }  # fmt: skip

    def _policy_json(self, name: str) -> dict[str, Any]:
        outcome = self.outcome
        gain, share, loss = outcome.gain(name).last(), outcome.relative_gain(name), outcome.worst_loss(name)
        return {
            "reason": self.reasons.get(name, ""),
            "parameters": self.parameters(name),
            "gain": dict(zip(("mean", "low", "high"), gain, strict=True)),
            "relative_gain": dict(zip(("mean", "low", "high"), share, strict=True)),
            "pays_after": outcome.pays_after(name),
            "surely_pays_after": outcome.pays_after(name, cautious=True),
            "loss": loss[0],
            "worst_loss": loss[1],
        }

    def json_text(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.as_json(), indent=1) + "\n"

    def to_json(self, path: AnyPath) -> None:
        """Write everything as JSON.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_text(path, "The json file", self.json_text())

    def to_html(self, path: AnyPath, command: str = "") -> None:
        """Write everything as one HTML page with pictures (needs the extras `report` and `plots`).

        Parameters
        ----------
        path : str or path-like
            The file.
        command : str, optional
            The command that asked for the advice, to be shown on the page.
        """
        from toplist.advice.page import write_page  # noqa: PLC0415 - it imports this module

        write_page(self, path, command)


def short_name(policy: str) -> str:
    """A policy without its parameters, if they are too long for a table.

    >>> short_name("dcm-kl-ucb(loglog=0)"), short_name("pbm-ts(examination=[1.0, 0.776, 0.636, 0.53, 0.405])")
    ('dcm-kl-ucb(loglog=0)', 'pbm-ts(...)')
    """
    return policy if len(policy) <= LONG_NAME else f"{policy.partition('(')[0]}(...)"
