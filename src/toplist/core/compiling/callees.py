"""What compiled code may call, for the CPU and for CUDA: marked functions with their options, and methods of parts."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature
from typing import Any
from weakref import WeakKeyDictionary

callees: WeakKeyDictionary[Callable[..., Any], dict[str, bool]] = WeakKeyDictionary()  # by `helper` or `routine`
methods: dict[str, Signature] = {}  # by `protocol`
