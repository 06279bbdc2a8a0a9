"""Messages of the playground: what can be chosen, and what to simulate."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from toplist.service.wire.fields import TEXT, Probability, Seed, Strict

MOST_POLICIES, MOST_ITEMS, MOST_POSITIONS, MOST_STEPS, MOST_RUNS = 6, 500, 20, 1_000_000, 100
LARGEST_PARAMETER = 1e6

PolicyText = Annotated[
    str,
    Meta(
        min_length=1, max_length=200, pattern=TEXT, examples=["cascade-kl-ucb"],
        description="a name of the catalogue, with or without parameters, which are numbers or words",
    ),
]  # fmt: skip
Parameter = Annotated[float, Meta(ge=-LARGEST_PARAMETER, le=LARGEST_PARAMETER)]
ParameterName = Annotated[str, Meta(min_length=1, max_length=50)]
Query = Annotated[str, Meta(max_length=1000)] | Annotated[int, Meta(ge=-(2**53), le=2**53)]


class Simulation(Strict, frozen=True, kw_only=True):
    """What to simulate: users, and policies side by side."""

    policies: Annotated[list[PolicyText], Meta(min_length=1, max_length=MOST_POLICIES)]
    users: Annotated[str, Meta(min_length=1, max_length=50)] = "dcm"  # a click model
    parameters: Annotated[dict[ParameterName, Parameter], Meta(max_length=20)] = field(
        default_factory=dict
    )  # of the click model
    items: Annotated[int, Meta(ge=2, le=MOST_ITEMS)] = 20
    positions: Annotated[int, Meta(ge=1, le=MOST_POSITIONS)] = 5
    best: Probability = 0.3  # attraction of the most attractive item
    worst: Probability = 0.02  # and of the least attractive one; the others lie evenly between
    # once: the order of the items is reversed after so many lists; jumps: some bad items become the best for so many
    # lists, and bad again for as many; drift: each attraction is a random walk
    change: Literal["never", "once", "jumps", "drift"] = "never"
    every: Annotated[int, Meta(ge=1, le=MOST_STEPS)] = 5000  # lists
    speed: Annotated[float, Meta(gt=0.0, le=0.5)] = 0.001  # of a drift, per list
    steps: Annotated[int, Meta(ge=1, le=MOST_STEPS)] = 10_000  # lists of a run
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 10
    seed: Seed = 0
    model: msgspec.Raw = field(
        default_factory=msgspec.Raw
    )  # a click model that `toplist fit` saved; its users replace all the above
    query: Query | None = None  # of that model

    @property
    def model_text(self) -> str | None:
        """The model as JSON; None without one."""
        given = bytes(self.model)
        return None if given in (b"", b"null") else given.decode()


class ChoiceParameter(Struct, frozen=True, kw_only=True):
    """A parameter with its default, as text."""

    name: str
    default: str


class Choice(Struct, frozen=True, kw_only=True):
    """Something that can be chosen."""

    name: str
    title: str
    summary: str
    parameters: list[ChoiceParameter]


class PlaygroundLimits(Struct, frozen=True, kw_only=True):
    """The limits of a simulation."""

    policies: int
    items: int
    positions: int
    steps: int
    runs: int
    seconds: float
    megabytes: int
    at_once: int
    waiting: int


class PlaygroundChoices(Struct, frozen=True, kw_only=True):
    """What a simulation can have."""

    policies: list[Choice]
    users: list[Choice]
    limits: PlaygroundLimits


class SimulationEvent(Struct, frozen=True, kw_only=True):
    """One of the server-sent events of a simulation."""

    event: str
    data: str  # JSON
