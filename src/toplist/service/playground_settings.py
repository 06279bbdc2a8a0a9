"""Settings of the playground: whether there is one, and how much its simulations may take."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class PlaygroundSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Simulations that are asked for on the page of the service."""

    enabled: Annotated[bool, Meta(description="whether simulations can be asked for, with an admin key")] = True
    at_once: Annotated[int, Meta(ge=1, le=64, description="simulations that run at once, each in its process")] = 1
    waiting: Annotated[int, Meta(ge=0, le=1000, description="simulations that wait for their turn; more get 429")] = 4
    seconds: Annotated[
        float, Meta(gt=0.0, le=3600.0, description="seconds after which a simulation is ended, with compiling")
    ] = 120.0
    memory: Annotated[
        int, Meta(ge=256, le=2**20, description="megabytes of the process of a simulation; one with more is ended")
    ] = 1024
