"""SECURITY.md: every promise names tests, which exist, and readers find the page."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text()
ROWS = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("| ") and "| tests |" not in line]
NAMED = re.findall(r"`(tests/[^`]*)`", TEXT)


def test_every_promise_names_a_test() -> None:
    assert len(ROWS) > 15
    for promise, tests in ROWS:
        named = re.findall(r"`([^`]+)`", tests)
        assert named, promise
        assert set(named) <= set(NAMED), promise


@pytest.mark.parametrize("named", sorted(set(NAMED)))
def test_every_named_test_exists(named: str) -> None:
    path, name = named.split("::")
    functions = [node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)]
    assert name in functions


def test_every_attacker_has_promises_or_the_lack_of_them() -> None:
    attackers = re.split(r"^\*\*", TEXT, flags=re.MULTILINE)[1:]
    assert len(attackers) == 5
    assert all("| promise | tests |" in attacker for attacker in attackers)


@pytest.mark.parametrize(("page", "link"), [("README.md", "(SECURITY.md)"), ("docs/service.md", "(security.md)")])
def test_it_is_linked(page: str, link: str) -> None:
    assert link in (ROOT / page).read_text()
