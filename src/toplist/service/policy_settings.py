"""Settings of policies of one's own: where they come from, and how long their check may take."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toplist.policies.own import OwnSources


class PolicySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Policies besides those of the catalogue."""

    files: Annotated[
        list[str], Meta(description="Python files, or names of modules, whose policies marked with entry are served")
    ] = []
    installed: Annotated[
        bool, Meta(description="whether policies of installed packages, by their entry points, are served")
    ] = True
    check_seconds: Annotated[
        float, Meta(gt=0.0, le=3600.0, description="seconds that the check of such policies may take at start")
    ] = 300.0

    @property
    def sources(self) -> OwnSources:
        """Where policies of one's own come from."""
        return OwnSources(tuple(self.files), self.installed)
