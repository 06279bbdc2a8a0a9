"""What a simulation of the playground plays: checked before a process starts, and as Python code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.engine.player import RunSetup
from toplist.engine.simulated_problem import SimulatedProblem
from toplist.engine.starts import OneSample
from toplist.policies.by_name import make
from toplist.policies.own import is_own_policy
from toplist.service.errors import Refused
from toplist.service.playground_settings import PlaygroundSettings
from toplist.service.wire.playground import (
    LARGEST_PARAMETER,
    MOST_ITEMS,
    MOST_POLICIES,
    MOST_POSITIONS,
    MOST_RUNS,
    MOST_STEPS,
    Choice,
    ChoiceParameter,
    PlaygroundChoices,
    PlaygroundLimits,
    Simulation,
)
from toplist.support.catalogue import POLICIES, USERS, Entry, call_text, parse

CHECKPOINTS = 100
LARGEST_WHOLE = 100_000  # as a parameter of a policy: some keep that many lists
RAISED = 3  # items that jump
MODEL_FILE = "model.json"
_ATTRACTION_DIGITS = 6


class SimulationPlan(NamedTuple):
    """The arguments of a simulation, all of them plain: it crosses to another process as JSON."""

    policies: list[str]
    world: str  # "" with a model
    users: str
    steps: int
    runs: int
    seed: int
    positions: int
    query: str | int | None
    has_model: bool
    checkpoints: int = CHECKPOINTS


def plan_of(simulation: Simulation) -> SimulationPlan:
    """The plan of a simulation; refused, with the field, if it is not allowed or its parts do not fit each other.

    Nothing is compiled, and nothing is allocated that is larger than the items of the simulation. A model is checked by
    the process that plays it.
    """
    _check_policies(simulation.policies)
    has_model = simulation.model_text is not None
    if has_model and (simulation.change != "never" or simulation.parameters):
        raise Refused("A model says how its users are; leave change and parameters out.", "/model")
    if not has_model and simulation.query is not None:
        raise Refused("query is of a model, and there is none; leave it out.", "/query")
    if simulation.positions > simulation.items and not has_model:
        raise Refused(
            f"There are {simulation.positions} positions for {simulation.items} items; have at least as many items.",
            "/positions",
        )
    plan = SimulationPlan(
        list(simulation.policies),
        "" if has_model else _world_text(simulation),
        "" if has_model else _users_text(simulation),
        simulation.steps, simulation.runs, simulation.seed, simulation.positions, simulation.query, has_model,
    )  # fmt: skip
    if not has_model:
        _check_parts(plan)
    return plan


def _check_policies(texts: list[str]) -> None:
    for at, text in enumerate(texts):
        pointer = f"/policies/{at}"
        if text in texts[:at]:
            raise Refused(f"The policy {text!r} is named twice; leave one out.", pointer)
        try:
            entry, parameters = POLICIES.find(text)
            entry.check_known(parameters)
        except InvalidInput as problem:
            raise Refused(str(problem), pointer) from problem
        for name, value in parameters.items():
            _check_value(f"{name} of {entry.name}", value, pointer)


def _check_value(what: str, value: Any, pointer: str) -> None:
    """Refuse values that could take much memory or time: texts with further parameters, sequences, large numbers."""
    if isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum():
        return
    if value is None or isinstance(value, bool):
        return
    largest = LARGEST_WHOLE if isinstance(value, int) else LARGEST_PARAMETER
    if isinstance(value, int | float) and abs(value) <= largest:
        return
    raise Refused(
        f"The parameter {what} is {value!r}, but here must be a word or a number of at most {LARGEST_PARAMETER:,.0f}, "
        f"whole ones at most {LARGEST_WHOLE:,}; choose another, or simulate in Python.", pointer,
    )  # fmt: skip


def _world_text(simulation: Simulation) -> str:
    spread = np.linspace(simulation.best, simulation.worst, simulation.items).round(_ATTRACTION_DIGITS).tolist()
    attraction = [float(each) for each in spread]
    world: dict[str, Any] = {"attraction": attraction, "positions": simulation.positions}
    if simulation.change == "once":
        rows = [attraction, attraction[::-1]]
        return call_text("piecewise", world | {"attraction": rows, "breakpoints": [simulation.every]})
    if simulation.change == "jumps":
        raised = min(RAISED, simulation.items - simulation.positions)
        if raised < 1:
            raise Refused("All items are shown, so that none can jump; have more items than positions.", "/change")
        return call_text("jumping", world | {"raised": raised, "up": simulation.every, "down": simulation.every})
    if simulation.change == "drift":
        return call_text("drifting", world | {"speed": simulation.speed})
    return call_text("fixed", world)


def _users_text(simulation: Simulation) -> str:
    known = {entry.name: entry for entry in user_entries()}
    if simulation.users not in known:
        raise Refused(f"The users are {simulation.users!r}, but must be one of {', '.join(known)}.", "/users")
    entry = known[simulation.users]
    try:
        entry.check_known(simulation.parameters)
    except InvalidInput as problem:
        raise Refused(str(problem), "/parameters") from problem
    given = {name: int(value) if name == "depth" else float(value) for name, value in simulation.parameters.items()}
    return call_text(entry.name, given)


def _check_parts(plan: SimulationPlan) -> None:
    """Let all parts check their parameters."""
    try:
        simulated = SimulatedProblem.of(plan.world, plan.users, OneSample())
        RunSetup.of(make("random"), *simulated[:3], plan.steps)
    except InvalidInput as problem:
        raise Refused(str(problem), "/parameters") from problem
    for at, text in enumerate(plan.policies):
        try:
            RunSetup.of(make(text), *simulated[:3], plan.steps)
        except InvalidInput as problem:
            raise Refused(f"The policy {text} cannot be played here: {problem}", f"/policies/{at}") from problem


def python_of(plan: SimulationPlan) -> str:
    """Python code that gives the same numbers."""
    lines = ["import toplist", ""]
    own = [text for text in plan.policies if is_own_policy(parse(text)[0])]
    if own:
        lines += [f"# Not in toplist's catalogue, load with toplist.policies.own: {', '.join(own)}", ""]
    world, users = repr(plan.world), repr(plan.users)
    if plan.has_model:
        lines += [
            "from toplist.logs import FittedModel",
            "",
            f"model = FittedModel.load({MODEL_FILE!r})  # the file that was uploaded",
            f"world = model.world({plan.query!r}, {plan.positions})",
            f"users = model.users({plan.query!r}, {plan.positions})",
            "",
        ]
        world, users = "world", "users"
    lines += [
        "result = toplist.simulate(",
        f"    {plan.policies!r},",
        f"    {world},",
        f"    {users},",
        f"    steps={plan.steps}, runs={plan.runs}, seed={plan.seed}, checkpoints={plan.checkpoints},",
        ")",
        "print(result)",
    ]
    return "\n".join(lines) + "\n"


@lru_cache(1)
def user_entries() -> tuple[Entry, ...]:
    """The click models that can be chosen: those whose parameters are single numbers."""
    return tuple(
        entry
        for entry in USERS.entries().values()
        if all(default is None or isinstance(default, int | float) for default in entry.parameters.values())
        and entry.name not in ("changing-dcm",)  # its parameters come from a world with contexts
    )


def policy_entries() -> list[Entry]:
    """The policies that can be chosen: those that need no features and no parameters."""
    return [
        entry
        for entry in POLICIES.entries().values()
        if not entry.missing(()) and not make(entry.name).capabilities().needs_features
    ]


def choices_of(settings: PlaygroundSettings) -> PlaygroundChoices:
    """What a simulation can have, and its limits."""
    return PlaygroundChoices(
        policies=[_choice(entry) for entry in policy_entries()],
        users=[_choice(entry) for entry in user_entries()],
        limits=PlaygroundLimits(
            policies=MOST_POLICIES, items=MOST_ITEMS, positions=MOST_POSITIONS, steps=MOST_STEPS, runs=MOST_RUNS,
            seconds=settings.seconds, megabytes=settings.memory, at_once=settings.at_once, waiting=settings.waiting,
        ),
    )  # fmt: skip


def _choice(entry: Entry) -> Choice:
    parameters = [ChoiceParameter(name=name, default=str(value)) for name, value in entry.parameters.items()]
    return Choice(name=entry.name, title=entry.title, summary=entry.summary, parameters=parameters)
