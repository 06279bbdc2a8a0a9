"""The experiments of the papers, and whether their results can be reproduced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toplist.experiments.reproduction import reproduce

__all__ = ["reproduce"]


def __getattr__(name: str) -> Any:
    if name == "reproduce":  # imported when it is first used: the engine is heavy
        from toplist.experiments import reproduction  # noqa: PLC0415

        return reproduction.reproduce
    raise AttributeError(f"module 'toplist.experiments' has no attribute {name!r}")
