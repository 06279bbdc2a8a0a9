"""What compiled code may call, for the CPU and for CUDA: marked functions with their options, and methods of parts."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

callees: WeakKeyDictionary[Callable[..., Any], dict[str, bool]] = WeakKeyDictionary()  # by `helper` or `routine`
rounded_once: WeakSet[Callable[..., Any]] = WeakSet()  # by `fused`
methods: dict[str, Signature] = {}  # by `protocol`
