"""What the playground plays: refused before anything starts, or played as the Python that it gives says."""

from typing import Any

import msgspec
import pytest

from toplist.service.errors import Refused
from toplist.service.playground.plan import choices_of, plan_of, python_of
from toplist.service.playground_settings import PlaygroundSettings
from toplist.service.wire.playground import Simulation


@pytest.mark.parametrize(
    ("given", "message", "field"),
    [
        ({"policies": ["nowhere"]}, "There is no policy 'nowhere'", "/policies/0"),
        ({"policies": ["mine.py:Mine"]}, "There is no policy 'mine.py:Mine'", "/policies/0"),
        ({"policies": ["../../etc/passwd"]}, "There is no policy", "/policies/0"),
        ({"policies": ["__import__('os').system('true')"]}, "must be a name", "/policies/0"),
        ({"policies": ["random", "random"]}, "is named twice", "/policies/1"),
        ({"policies": ["cascade-ucb1(scale=1e300)"]}, "must be a word or a number of at most", "/policies/0"),
        ({"policies": ["cascade-swucb(tau=1000000000000)"]}, "whole ones at most 100,000", "/policies/0"),
        ({"policies": ["exploring(policy='cascade-swucb(tau=10000000000)')"]}, "must be a word", "/policies/0"),
        ({"policies": ["cascade-ucb1(scale=[0.5, 0.5])"]}, "must be a word or a number", "/policies/0"),
        ({"policies": ["cascade-ucb1(wrong=1)"]}, "has no parameter 'wrong'", "/policies/0"),
        ({"policies": ["cascade-ucb1(scale=-1)"]}, "cannot be played here", "/policies/0"),
        ({"policies": ["cascade-lin-ucb"]}, "cannot be played here", "/policies/0"),
        ({"users": "mixture"}, "must be one of cascade, ccm, dbn, dcm, pbm, ubm", "/users"),
        ({"users": "mine.py:Users"}, "must be one of", "/users"),
        ({"parameters": {"termination": 7.0}}, "termination", "/parameters"),
        ({"parameters": {"nothing": 0.5}}, "dcm has no parameter 'nothing'", "/parameters"),
        ({"items": 3, "positions": 4}, "There are 4 positions for 3 items", "/positions"),
        ({"items": 4, "positions": 4, "change": "jumps"}, "none can jump", "/change"),
        ({"query": "shoes"}, "query is of a model", "/query"),
        ({"model": msgspec.Raw(b"{}"), "change": "once"}, "A model says how its users are", "/model"),
    ],
)
def test_hostile_settings_are_refused(given: dict[str, Any], message: str, field: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        plan_of(Simulation(**({"policies": ["random"]} | given)))
    assert refused.value.field == field


@pytest.mark.parametrize(
    "text",
    [
        '{"policies": []}',
        '{"policies": ["a", "b", "c", "d", "e", "f", "g"]}',
        '{"policies": ["random"], "items": 501}',
        '{"policies": ["random"], "items": 1e9}',
        '{"policies": ["random"], "positions": 21}',
        '{"policies": ["random"], "steps": 1000001}',
        '{"policies": ["random"], "runs": 101}',
        '{"policies": ["random"], "best": 1.5}',
        '{"policies": ["random"], "parameters": {"termination": 1e99}}',
        '{"policies": ["random"], "file": "/etc/passwd"}',
        '{"policies": ["' + "x" * 201 + '"]}',
    ],
)
def test_settings_beyond_their_limits_are_not_decoded(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Simulation)


@pytest.mark.parametrize("change", ["never", "once", "jumps", "drift"])
def test_python_names_everything(change: Any) -> None:
    simulation = Simulation(policies=["random", "cascade-ucb1(scale=2)"], items=6, positions=2, change=change)
    plan = plan_of(simulation)
    code = python_of(plan)
    compile(code, "playground", "exec")
    assert repr(plan.world) in code
    assert "['random', 'cascade-ucb1(scale=2)']" in code


def test_choices_can_be_played() -> None:
    choices = choices_of(PlaygroundSettings())
    assert {"cascade", "dbn", "dcm", "pbm"} <= {each.name for each in choices.users}
    assert {"best", "random", "dcm-ts"} <= {each.name for each in choices.policies}
    for policy in choices.policies:
        plan_of(Simulation(policies=[policy.name]))
    for users in choices.users:
        given = {each.name: float(each.default) for each in users.parameters if each.default != "None"}
        plan_of(Simulation(policies=["random"], users=users.name, parameters=given))
