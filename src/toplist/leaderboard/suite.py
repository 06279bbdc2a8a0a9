"""The problems that policies are ranked on: a fixed, versioned list of worlds with users, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput
from toplist.engine.simulated_problem import SimulatedProblem

FIELDS = {"name", "kind", "world", "users", "changes", "features"}


class SuiteProblem(NamedTuple):
    """A problem of the suite.

    Parameters
    ----------
    name : str
        Its name, unique in the suite.
    kind : str
        Problems of a kind share the tuned parameters of a policy.
    world, users : str
        Texts as on the command line.
    changes : bool, default False
        Whether the users' preferences change.
    features : bool, default False
        Whether items have features, on which attraction depends.
    """

    name: str
    kind: str
    world: str
    users: str
    changes: bool = False
    features: bool = False

    def made(self) -> Any:
        """The world, the users and the start."""
        return SimulatedProblem.of(self.world, self.users, "one-sample")

    @property
    def items(self) -> int:
        """The number of its items."""
        return int(self.made().world.checked().problem(None).items)

    @property
    def positions(self) -> int:
        """The length of its lists."""
        return int(self.made().world.checked().problem(None).positions)

    @property
    def has_new_features(self) -> bool:
        """Whether the features of the items are others for every visitor."""
        return bool(getattr(self.made().world, "fresh", False))

    @property
    def clicks(self) -> str:
        """The click model of its users, by name: changing-dcm is a dcm."""
        name = self.users.partition("(")[0].strip()
        return "dcm" if name == "changing-dcm" else name


class Suite(NamedTuple):
    """A version of the suite: the problems to be ranked on, and one problem per kind to tune on.

    Parameters
    ----------
    version : int
        The version.
    problems, tuning : tuple of SuiteProblem
        The problems, and those to tune on.
    changes : tuple of str, default empty
        What of the version was left out, and what was added.
    """

    version: int
    problems: tuple[SuiteProblem, ...]
    tuning: tuple[SuiteProblem, ...]
    changes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of all problems, by which two suites of the same version can be told apart."""
        problems = [[problem._asdict() for problem in part] for part in (self.problems, self.tuning)]
        return hashlib.sha256(json.dumps(problems, sort_keys=True).encode()).hexdigest()[:16]

    def with_learned(self, problems: Sequence[SuiteProblem]) -> Suite:
        """The suite with further problems."""
        change = f"{len(problems)} learned click models added"
        return self._replace(problems=(*self.problems, *problems), changes=(*self.changes, change))

    def chosen(self, names: list[str]) -> Suite:
        """The suite with these problems only; all of them for an empty list."""
        if not names:
            return self
        known = {problem.name: problem for problem in self.problems}
        for name in names:
            if name not in known:
                raise InvalidInput(f"There is no problem {name!r} in the suite, but there are {', '.join(known)}.")
        change = f"{len(names)} of {len(known)} problems chosen"
        return self._replace(problems=tuple(known[name] for name in names), changes=(*self.changes, change))


def read_suite(text: str | None = None) -> Suite:
    """The suite of a JSON text; without one, that of toplist.

    Parameters
    ----------
    text : str, optional
        A JSON object with `version`, `problems` and `tuning`, and the `digest` of both, if it is to be checked; a
        problem has the fields of `SuiteProblem`.

    Returns
    -------
    Suite
        The suite.

    Raises
    ------
    InvalidInput
        If the text is no suite, a name is given twice, or the problems are others than those of the digest.

    Examples
    --------
    >>> suite = read_suite()
    >>> suite.version, len(suite.problems) >= 24
    (2, True)
    """
    given = files("toplist.leaderboard").joinpath("suite.json").read_text() if text is None else text
    try:
        found = json.loads(given)
        problems, tuning = (tuple(map(_problem, found[part])) for part in ("problems", "tuning"))
        suite = Suite(int(found["version"]), problems, tuning)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"A suite has a version, problems and tuning problems, but there is {error!r}.") from None
    names = [problem.name for problem in (*suite.problems, *suite.tuning)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"Names of problems are unique, but {', '.join(sorted(twice))} is given twice.")
    if missing := {problem.kind for problem in suite.problems} - {problem.kind for problem in suite.tuning}:
        raise InvalidInput(f"Every kind has a problem to tune on, but {', '.join(sorted(missing))} has none.")
    if found.get("digest", suite.digest) != suite.digest:
        raise InvalidInput(
            f"Version {suite.version} of the suite has other problems than those of the digest {found['digest']}; "
            f"raise the version, and give the digest {suite.digest}."
        )
    return suite


def _problem(given: dict[str, Any]) -> SuiteProblem:
    if unknown := set(given) - FIELDS:
        raise ValueError(f"unknown field {', '.join(sorted(unknown))}")
    return SuiteProblem(**given)
