"""Policies of your own in the catalogue: from installed packages by their entry points, and from modules and files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from toplist.core.problem import InvalidInput
from toplist.support.catalogue import POLICIES, Entry, entries_of
from toplist.support.own_parts import load_module, own_entry

GROUP = "toplist.policies"  # the entry point group of packages with policies
_IS_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*").fullmatch


class OwnSources(NamedTuple):
    """Where policies of one's own come from."""

    modules: tuple[str, ...] = ()  # names of modules, or Python files
    installed: bool = True  # also from the entry points of installed packages

    @property
    def is_empty(self) -> bool:
        """Whether there is no source; nothing is imported to find out."""
        return not self.modules and not (self.installed and entry_points(group=GROUP))


class OwnPolicy(NamedTuple):
    """A policy of one's own."""

    name: str
    source: str  # the package, module or file


_added: dict[str, OwnPolicy] = {}
_loaded: list[OwnSources] = []


def load_own_policies(sources: OwnSources) -> list[OwnPolicy]:
    """Import policies of one's own, and add them to the catalogue until the process ends.

    Parameters
    ----------
    sources : OwnSources
        Modules and files, whose functions and classes marked with `entry` are added, and whether policies of installed
        packages are.

    Returns
    -------
    list of OwnPolicy
        All policies of the sources, in order.

    Raises
    ------
    InvalidInput
        If a source cannot be imported or has no policy, or a name is invalid or taken.
    """
    if sources in _loaded:
        return list(_added.values())
    found: dict[str, tuple[OwnPolicy, Entry]] = {}
    for own, entry in [*_of_packages(sources.installed), *_of_modules(sources.modules)]:
        if _IS_NAME(own.name) is None:
            raise InvalidInput(
                f"A policy of {own.source} is called {own.name!r}, but a name has small letters, digits and dashes; "
                f"rename it."
            )
        if own.name in POLICIES.entries() or own.name in found:
            raise InvalidInput(f"{own.source} has a policy {own.name!r}, but there is one already; rename it.")
        found[own.name] = own, entry
    POLICIES.add({name: entry for name, (_, entry) in found.items()})
    _added.update({name: own for name, (own, _) in found.items()})
    _loaded.append(sources)
    return list(_added.values())


def loaded_sources() -> OwnSources:
    """The sources of the policies that this process has, for another process that needs the same."""
    return _loaded[-1] if _loaded else OwnSources((), False)


def is_own_policy(name: str) -> bool:
    """Whether a policy was added by `load_own_policies`."""
    return name in _added


def _of_packages(installed: bool) -> list[tuple[OwnPolicy, Entry]]:
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name) if installed else []
    return [_of_entry_point(point) for point in found]


def _of_entry_point(point: EntryPoint) -> tuple[OwnPolicy, Entry]:
    source = f"the package {point.dist.name} {point.dist.version}" if point.dist is not None else point.value
    label = f"{point.name!r} of {source}"
    try:
        made = point.load()
    except (Exception, SystemExit) as error:
        raise InvalidInput(
            f"The policy {label} cannot be imported: {type(error).__name__}: {error}; repair or remove the package, or "
            f"set policies.installed to false."
        ) from error
    entry = replace(own_entry(label, made, "policy"), name=point.name, title=point.name)
    return OwnPolicy(point.name, source), entry


def _of_modules(modules: Sequence[str]) -> list[tuple[OwnPolicy, Entry]]:
    found: list[tuple[OwnPolicy, Entry]] = []
    for module in modules:
        marked = entries_of(load_module(module).__name__)
        if not marked:
            raise InvalidInput(
                f'{module} has no policy; mark each function or class that makes one with @toplist.policies.entry("Its '
                f'Title").'
            )
        found += [(OwnPolicy(name, module), entry) for name, entry in marked.items()]
    return found
