"""The problems that policies are ranked on: a fixed, versioned list of worlds with users, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput
from toplist.engine.simulated_problem import SimulatedProblem
from toplist.worlds import Changing


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
    since : int, default 0
        The version of the suite that has it first; 0 for a problem that is of no version.
    """

    name: str
    kind: str
    world: str
    users: str
    changes: bool = False
    features: bool = False
    since: int = 0

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
        return _hash([[_described(problem) for problem in part] for part in (self.problems, self.tuning)])

    @property
    def tuning_digest(self) -> str:
        """A hash of the problems to tune on: parameters fit every suite that has the same ones, in any order."""
        return _hash([_described(problem) for problem in sorted(self.tuning)])

    def of_version(self, version: int) -> Suite:
        """The suite as it was in a version: without the problems that were added later."""
        problems, tuning = (
            tuple(each for each in part if each.since <= version) for part in (self.problems, self.tuning)
        )
        return self._replace(version=min(version, self.version), problems=problems, tuning=tuning)

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
        A JSON object with `version`, `problems` and `tuning`, where a problem has the fields of `SuiteProblem`. One
        that was added to a version has `since`, the next one, which then is the version of the suite. `digests` may
        have a digest per version, which is checked; `digest` is that of `version`.

    Returns
    -------
    Suite
        The suite.

    Raises
    ------
    InvalidInput
        If the text is no suite, a name is given twice, a problem does not say that its world changes or has features,
        or a version has other problems than those of its digest.

    Examples
    --------
    >>> suite = read_suite()
    >>> suite.version >= 2, len(suite.of_version(2).problems)
    (True, 26)
    """
    given = files("toplist.leaderboard").joinpath("suite.json").read_text() if text is None else text
    try:
        found = json.loads(given)
        first = int(found["version"])
        problems, tuning = (tuple(_problem(each, first) for each in found[part]) for part in ("problems", "tuning"))
        suite = Suite(max([first, *(each.since for each in (*problems, *tuning))]), problems, tuning)
        digests = {int(version): str(digest) for version, digest in found.get("digests", {}).items()}
        if "digest" in found:
            digests[first] = str(found["digest"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"A suite has a version, problems and tuning problems, but there is {error!r}.") from None
    names = [problem.name for problem in (*suite.problems, *suite.tuning)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"Names of problems are unique, but {', '.join(sorted(twice))} is given twice.")
    if missing := {problem.kind for problem in suite.problems} - {problem.kind for problem in suite.tuning}:
        raise InvalidInput(f"Every kind has a problem to tune on, but {', '.join(sorted(missing))} has none.")
    for problem in (*suite.problems, *suite.tuning):
        _check_flags(problem)
    for version, digest in digests.items():
        if (there := suite.of_version(version).digest) != digest:
            raise InvalidInput(
                f"Version {version} of the suite has other problems than when it was published (digest {there}, not "
                f'{digest}); leave its problems as they are, and give a new one the field "since": {max(digests) + 1}.'
            )
    return suite


def _problem(given: dict[str, Any], version: int) -> SuiteProblem:
    if unknown := set(given) - set(SuiteProblem._fields):
        raise ValueError(f"unknown field {', '.join(sorted(unknown))}")
    problem = SuiteProblem(**{"since": version} | given)
    if problem.since < version:
        raise ValueError(f"since {problem.since}, but the first version is {version}")
    return problem


def _check_flags(problem: SuiteProblem) -> None:
    """Refuse a problem that does not say that its world changes or has features: what is violated follows from it."""
    world = problem.made().world.checked()
    changes = isinstance(world, Changing) and not world.passing()
    features = world.problem(None).features > 0
    for flag, there, said in (("changes", changes, problem.changes), ("features", features, problem.features)):
        if there and not said:
            raise InvalidInput(f'The world of {problem.name!r} has {flag}, but its entry does not say "{flag}": true.')
    if problem.features and not features:
        raise InvalidInput(f'{problem.name!r} has "features": true, but its world has none; leave it out.')


def _described(problem: SuiteProblem) -> dict[str, Any]:
    """What is played, of a problem: not since when."""
    return {name: value for name, value in problem._asdict().items() if name != "since"}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
