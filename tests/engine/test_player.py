"""A player that begins another run with the same arrays plays as a new one does."""

import numpy as np
import pytest

import toplist
from toplist.clicks import DCM
from toplist.core.beliefs import MANY
from toplist.engine import player as playing
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.parts.index.shortlist import NoShortlist, Shortlist
from toplist.worlds import Contextual, Fixed, jumping

CHECKPOINTS = np.array([20, 60])
NINE = np.linspace(0.8, 0.05, 9)


def state(player: Player) -> dict[str, bytes]:
    return {name: np.asarray(array).tobytes() for name, array in player.state_arrays().items()}


def setup_of(name: str, world: toplist.worlds.Fixed | None = None) -> RunSetup:
    policy = toplist.make(name)
    if world is None:
        world = Fixed(NINE, 3, np.eye(9) if policy.capabilities().needs_features else ())
    return RunSetup.of(policy, world, DCM([0.6, 0.9, 0.3]), OneSample(), 60)


@pytest.mark.parametrize("name", toplist.catalogue())
def test_a_player_that_restarts_plays_as_a_new_one(name: str) -> None:
    setup = setup_of(name)
    reused, new = (Player(setup, key, CHECKPOINTS, compiled=False) for key in (1, 2))
    reused.keep_fresh()
    reused.play(60)
    first = state(reused)
    assert reused.restart(2)
    reused.play(60)
    new.play(60)
    assert state(reused) == state(new)
    assert name == "best" or state(reused) != first


@pytest.mark.parametrize(
    "world", [jumping(NINE, 3, raised=2, up=20, down=10), Contextual(9, 3, 4)], ids=["jumping", "contextual"]
)
def test_a_changing_world_begins_again_too(world: toplist.worlds.Fixed) -> None:
    setup = setup_of("cascade-kl-ucb", world)
    reused, new = (Player(setup, key, CHECKPOINTS, compiled=False) for key in (1, 2))
    reused.keep_fresh()
    reused.play(60)
    assert reused.restart(2)
    reused.play(60)
    new.play(60)
    assert state(reused) == state(new)


def test_machine_code_of_a_restarted_player_is_called_directly() -> None:
    setup = setup_of("cascade-kl-ucb")
    reused, new = (Player(setup, key, CHECKPOINTS) for key in (1, 2))
    reused.keep_fresh()
    reused.play(60)
    assert reused.restart(2)
    reused.play(30)
    reused.play(60)
    new.play(60)
    assert state(reused) == state(new)


def test_a_large_state_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "SMALL", 100)
    player = Player(setup_of("cascade-ucb1"), 1, CHECKPOINTS, compiled=False)
    player.keep_fresh()
    assert not player.restart(2)


@pytest.mark.parametrize(("items", "kind"), [(16, NoShortlist), (MANY, Shortlist)])
def test_code_for_very_many_items_is_left_out_where_they_are_few(items: int, kind: type) -> None:
    """A run has as many items as it begins with, so what only more items need is not compiled."""
    setup = setup_of("cascade-kl-ucb", Fixed(np.full(items, 0.1), 3))
    assert type(Player(setup, 1, CHECKPOINTS, compiled=False).cache.scoring.shortlist) is kind
