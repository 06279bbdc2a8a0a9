"""`toplist policies`: lists the catalogue of policies, or describes one policy."""

from __future__ import annotations

import inspect
import json
import textwrap
from argparse import Namespace
from typing import Any

from toplist.cli.catalogue_text import described, entries_table, entry_facts
from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command

# Capabilities in words: present, absent. One that is missing here is printed by its name.
CAPABILITIES = {
    "learns": ("learns from clicks", "does not learn"),
    "adds_items": ("items may be added later", "all items must exist from the start"),
    "takes_subsets": ("any subset of the items may be eligible", "all items must be eligible in every list"),
    "takes_pins": ("items can be pinned to positions", "items cannot be pinned to positions"),
    "learns_from_any_list": ("learns also from lists of other policies", "learns only from its own lists"),
    "grows": ("its belief grows with the lists learned", "its belief does not grow"),
    "detects": ("reports the changes that it detects", "does not detect changes"),
    "forgets": ("forgets old observations", "keeps all observations"),
    "needs_simulator": ("works in a simulation only", "works on a live page as in a simulation"),
}


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "policies", run, "list all policies, or describe one")
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="policy to describe in full, also your own, as mine.py:NAME",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: Namespace) -> int:
    """Print the catalogue, or one entry of it."""
    from toplist.cli.part_arguments import find_policy
    from toplist.support.catalogue import POLICIES

    entries = POLICIES.entries()
    if arguments.name is None:
        if arguments.json:
            print(json.dumps([entry_facts(entry) for entry in entries.values()], indent=1))
        else:
            print(entries_table(entries.values()))
        return Exit.FINE
    entry, given = find_policy(arguments.name)
    policy = entry.make(**given)
    check_parameters(policy, given)
    facts = policy_facts(entry, given, policy)
    print(json.dumps(facts, indent=1, default=repr) if arguments.json else facts_text(facts))
    return Exit.FINE


def check_parameters(policy: Any, given: dict[str, Any]) -> None:
    """Refuse parameters that a simulation would refuse: prepare it for a small problem with or without features."""
    from toplist.core.problem import InvalidInput, Problem

    positions = max((len(value) for value in given.values() if isinstance(value, list | tuple)), default=3)
    try:
        policy.prepare(Problem(2 * positions, positions, 0, 100))
    except InvalidInput:
        policy.prepare(Problem(2 * positions, positions, 2, 100))


def policy_facts(entry: Any, given: dict[str, Any], policy: Any) -> dict[str, Any]:
    """The facts on one policy."""
    from toplist.support.catalogue import part_text

    parameters = entry.parameters | given
    return entry_facts(entry) | {
        "parameters": parameters,
        "parts": part_text(policy, shown=parameters),
        "capabilities": policy.capabilities()._asdict(),
        "documentation": inspect.getdoc(entry.build) or "",
    }


def facts_text(facts: dict[str, Any]) -> str:
    """The facts on one policy as text."""
    abilities = textwrap.indent("\n".join(capability_lines(facts["capabilities"])), "  ")
    return "\n\n".join([*described(facts, [f"parts\n  {facts['parts']}"]), f"capabilities\n{abilities}"])


def capability_lines(capabilities: dict[str, Any]) -> list[str]:
    """The capabilities of a policy in words, a line each."""
    words = []
    for name, value in capabilities.items():
        if name in CAPABILITIES and isinstance(value, bool):
            words.append(CAPABILITIES[name][0 if value else 1])
        elif name == "samples":
            words.append(f"one sample before step 1 is one per {value}" if value != "nothing" else "takes no samples")
        else:
            words.append(f"{name.replace('_', ' ')}: {value}")
    return words
