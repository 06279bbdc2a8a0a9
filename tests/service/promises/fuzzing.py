"""Promise 5: whatever Schemathesis makes of the OpenAPI document, no answer is a 5xx and every 4xx is problem+json."""

from __future__ import annotations

from pathlib import Path

from fuzz import fuzz

from .broken import Broken


def check(_: Path, requests: int, examples: int) -> str:
    """All phases with so many examples of each operation, until there were so many requests; what was answered."""
    outcome = fuzz(requests, examples)
    if outcome.failed:
        raise Broken(f"{outcome}\n{outcome.told[-8000:]}")
    return f"{outcome}; all as described, every 4xx a problem+json"
