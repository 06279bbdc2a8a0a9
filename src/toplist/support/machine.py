"""What a result was made on: the processor, and the commit of the code."""

from __future__ import annotations

import platform
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import toplist


def processor_name() -> str:
    """The model name of the processor if the system tells it, else its architecture."""
    with suppress(OSError):
        model = re.search(r"^model name\s*: *(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if model:
            return " ".join(model[1].split())
    return platform.machine()


def code_commit(root: Path | None = None) -> str | None:
    """The commit of a checkout, with "-dirty" behind it if tracked files have changed; None where there is none.

    Without a folder, it is that of the checkout that toplist is imported from.
    """
    root = Path(toplist.__file__).parents[2] if root is None else root
    if not (root / ".git").exists():  # installed: another repository around it says nothing
        return None
    asked = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    with suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
        return told.stdout.strip() or None
    return None
