"""Writes less LLVM code per function than numba does, for the same machine code.

Numba flattens the arguments of every call, and puts them together again within the callee: a belief and a cache may
have forty arrays of seven words. Variables that are used in several blocks live on the stack, with all their fields,
and an array is copied there for every element that is read. LLVM removes all of that again, after it was written by
Python, printed and parsed: here it is not written.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from llvmlite.ir import instructions as llvm_instructions  # type: ignore[import-untyped]
from numba.core import errors, ir, lowering, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.np import arrayobj

from toplist.core.compiling.numba_libraries import CalleeLibrary

new_error_context: Any = vars(errors)["new_error_context"]
# Instructions without effect, which can be dropped where nothing uses their value.
PURE = frozenset(
    [
        "add",
        "and",
        "ashr",
        "bitcast",
        "extractvalue",
        "fcmp",
        "getelementptr",
        "icmp",
        "insertvalue",
        "inttoptr",
        "load",
        "lshr",
        "mul",
        "or",
        "ptrtoint",
        "select",
        "sext",
        "shl",
        "sub",
        "trunc",
        "xor",
        "zext",
    ]
)


class _Builder(llvm.IRBuilder):  # type: ignore[misc]
    """Finds the fields of values that were put together in the same function."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A field, without an instruction where it is known."""
        wanted = tuple(idx) if isinstance(idx, tuple | list) else (idx,)
        while isinstance(agg, llvm_instructions.InsertValue):
            written = tuple(agg.indices)
            if written == wanted[: len(written)]:
                agg, wanted = agg.value, wanted[len(written) :]
                if not wanted:
                    return agg
            elif wanted == written[: len(wanted)]:
                break  # a part of it was written
            else:
                agg = agg.aggregate
        return super().extract_value(agg, wanted, name)


class Lower(lowering.Lower):
    """As numba's, with less code for arguments, variables and arrays."""

    def setup_function(self, fndesc: Any) -> None:
        """Declare the function, with our builder; a routine is too large to be inlined, even where LLVM would."""
        super().setup_function(fndesc)  # type: ignore[no-untyped-call]
        if isinstance(self.library, CalleeLibrary) and not fndesc.inline:
            self.function.attributes.add("noinline")
        self.builder.__class__ = _Builder

    def lower_normal_function(self, fndesc: Any) -> None:
        """Write the function, and drop instructions whose value nothing uses."""
        super().lower_normal_function(fndesc)  # type: ignore[no-untyped-call]
        _drop_unused(self.function)

    def lower_block(self, block: Any) -> None:
        """As in numba, where the text for an error message is made for every instruction."""
        self.pre_block(block)  # type: ignore[no-untyped-call]
        for instruction in block.body:
            self.loc = instruction.loc
            try:
                self.lower_inst(instruction)  # type: ignore[no-untyped-call]
            except Exception:
                with new_error_context(
                    'lowering "{inst}" at {loc}', inst=instruction, loc=self.loc, errcls_=_lowering_error(self.loc)
                ):
                    raise
        self.post_block(block)  # type: ignore[no-untyped-call]

    def _find_singly_assigned_variable(self) -> None:
        """Variables that are values: assigned once, before each use. In numba, those of a single block."""
        used_and_set = compute_use_defs(self.func_ir.blocks)  # type: ignore[no-untyped-call]
        dominators: Any = None
        assigned = Counter(
            statement.target.name
            for block in self.blocks.values()
            for statement in block.body
            if isinstance(statement, ir.Assign)
        )
        defined = {name: label for label, names in used_and_set.defmap.items() for name in names}
        values = {name for name, times in assigned.items() if times == 1}
        for label, names in used_and_set.usemap.items():  # of names that come from other blocks
            for name in names & values:
                if dominators is None:
                    dominators = compute_cfg_from_blocks(self.func_ir.blocks).dominators()  # type: ignore[no-untyped-call]
                # Blocks are written in the order of their labels.
                if not (defined[name] < label and defined[name] in dominators[label]):
                    values.discard(name)
        self._singly_assigned_vars = values
        self._blk_local_varmap: dict[str, Any] = {}

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Set a variable; numba would load its old value, to count a reference less."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))  # type: ignore[no-untyped-call]

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Read an element of an array, whose fields are then needed as values only."""
        kind, index_kind = signature.args
        if self.typeof(value.name) != kind or not _is_element(kind, index_kind):  # type: ignore[no-untyped-call]
            return super().lower_getitem(resty, expr, value, index, signature)  # type: ignore[no-untyped-call]
        pointer = self._element(kind, index_kind, value, index)
        read = arrayobj.load_item(self.context, self.builder, kind, pointer)  # type: ignore[no-untyped-call]
        return self.context.cast(self.builder, read, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write an element of an array."""
        kind, index_kind, value_kind = signature.args
        if self.typeof(target_var.name) != kind or not _is_element(kind, index_kind):  # type: ignore[no-untyped-call]
            return super().lower_setitem(target_var, index_var, value_var, signature)  # type: ignore[no-untyped-call]
        value = self.loadvar(value_var.name)  # type: ignore[no-untyped-call]
        pointer = self._element(kind, index_kind, target_var, index_var)
        value = self.context.cast(self.builder, value, self.typeof(value_var.name), value_kind)  # type: ignore[no-untyped-call]
        value = self.context.cast(self.builder, value, value_kind, kind.dtype)
        arrayobj.store_item(self.context, self.builder, kind, value, pointer)  # type: ignore[no-untyped-call]
        return None

    def _element(self, kind: Any, index_kind: Any, array_var: Any, index_var: Any) -> Any:
        """The address of an element, by numba's own rules."""
        array = _Fields(self.context, self.builder, kind, self.loadvar(array_var.name))  # type: ignore[no-untyped-call]
        index = self.loadvar(index_var.name)  # type: ignore[no-untyped-call]
        index = self.context.cast(self.builder, index, self.typeof(index_var.name), index_kind)  # type: ignore[no-untyped-call]
        if isinstance(index_kind, types.BaseTuple):
            kinds: Any = tuple(index_kind.types)  # type: ignore[attr-defined]
            indices = [self.builder.extract_value(index, at) for at in range(len(kinds))]
        else:
            kinds, indices = (index_kind,), [index]
        pointer, _, _ = arrayobj.basic_indexing(  # type: ignore[no-untyped-call]
            self.context, self.builder, kind, array, kinds, indices, boundscheck=self.context.enable_boundscheck
        )
        return pointer


class _Fields:
    """The fields of an array; numba's own object for them has them on the stack."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self._model, self._builder, self._value = context.data_model_manager[kind], builder, value

    def __getattr__(self, name: str) -> Any:
        return self._model.get(self._builder, self._value, name)


def _is_element(kind: Any, index_kind: Any) -> bool:
    """Whether an index of this type selects one element of this array."""
    if not isinstance(kind, types.Array) or not isinstance(kind.dtype, types.Number | types.Boolean):
        return False
    indices = tuple(index_kind.types) if isinstance(index_kind, types.BaseTuple) else (index_kind,)  # type: ignore[attr-defined]
    return len(indices) == kind.ndim and all(isinstance(each, types.Integer) for each in indices)


def _lowering_error(loc: Any) -> Any:
    return lambda message: errors.LoweringError(message, loc=loc)


def _drop_unused(function: Any) -> None:
    """Drop instructions whose value nothing uses."""
    uses: Counter[int] = Counter()
    for block in function.blocks:
        for instruction in block.instructions:
            for used in _operands(instruction):
                uses[id(used)] += 1
    dropped: set[int] = set()
    waiting = [
        instruction
        for block in function.blocks
        for instruction in block.instructions
        if instruction.opname in PURE and not uses[id(instruction)]
    ]
    while waiting:
        instruction = waiting.pop()
        dropped.add(id(instruction))
        for used in _operands(instruction):
            uses[id(used)] -= 1
            if not uses[id(used)] and getattr(used, "opname", None) in PURE:
                waiting.append(used)
    for block in function.blocks:
        block.instructions = [each for each in block.instructions if id(each) not in dropped]


def _operands(instruction: Any) -> Any:
    if isinstance(instruction, llvm_instructions.PhiInstr):
        return [value for value, _ in instruction.incomings]
    return instruction.operands
