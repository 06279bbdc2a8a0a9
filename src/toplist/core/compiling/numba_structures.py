"""Keeps fields of structures as values while numba writes a function; it keeps them all on the stack itself.

Private parts of numba and numba-cuda, which have equal ones.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba.core import types


def fields_as_values(helpers: str, array_helpers: str) -> list[tuple[Any, str, Any]]:
    """What to replace in the modules of a target, within which code for LLVM is written."""
    cgutils, arrays = import_module(helpers), import_module(array_helpers)
    structure, make_array = vars(cgutils)["_StructProxy"], arrays.make_array
    before = dict(vars(structure))

    def is_value(self: Any) -> bool:
        """Whether it is not on the stack, where it goes once another block than its first needs it."""
        own = vars(self)
        return "_written" in own and "_value" not in own and self._builder.basic_block is self._block

    def whole(self: Any) -> Any:
        value = self._start
        for index, field in self._written.items():
            value = self._builder.insert_value(value, field, index)
        return value

    def start(self: Any, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
        if ref is not None or type(self)._make_refs is not structure._make_refs:
            before["__init__"](self, context, builder, value, ref)
            return
        self._context, self._builder, self._block = context, builder, builder.basic_block
        self._datamodel = context.data_model_manager[self._fe_type]
        self._be_type = self._get_be_type(self._datamodel)
        self._start = llvm.Constant(self._be_type, None) if value is None else value
        if self._start.type != self._be_type:
            raise AssertionError(f"bad value type: expected {self._be_type}, got {self._start.type}")
        self._written = {}

    def get_attribute(self: Any, name: str) -> Any:
        if name not in ("_value", "_outer_ref"):
            return before["__getattr__"](self, name)
        self._value = self._outer_ref = pointer = cgutils.alloca_once(self._builder, self._be_type)
        with self._builder.goto_block(self._block):
            self._builder.store(whole(self), pointer)
        return pointer

    def get_item(self: Any, index: int) -> Any:
        if not is_value(self):
            return before["__getitem__"](self, index)
        field = self._written.get(index)
        if field is None:
            is_zero = isinstance(self._start, llvm.Constant) and self._start.constant is None
            zero = llvm.Constant(self._be_type.elements[index], None) if is_zero else None
            field = zero if is_zero else self._builder.extract_value(self._start, index)
        return self._cast_member_to_value(index, field)

    def set_item(self: Any, index: int, value: Any) -> None:
        field = self._cast_member_from_value(index, value)
        if is_value(self) and field.type == self._be_type.elements[index]:
            self._written[index] = field
        else:
            before["__setitem__"](self, index, value)

    def get_value(self: Any) -> Any:
        return whole(self) if is_value(self) else before["_getvalue"](self)

    def make_plain_array(kind: Any) -> Any:
        return cgutils.create_struct_proxy(kind) if type(kind) is types.Array else make_array(kind)

    return [
        (structure, "__init__", start),
        (structure, "__getattr__", get_attribute),
        (structure, "__getitem__", get_item),
        (structure, "__setitem__", set_item),
        (structure, "_getvalue", get_value),
        (arrays, "make_array", make_plain_array),
    ]
