"""The functions that compiled code may call by name, marked with `helper` or `routine`, and their compile options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

callees: WeakKeyDictionary[Callable[..., Any], dict[str, bool]] = WeakKeyDictionary()
