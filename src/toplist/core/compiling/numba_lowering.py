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
from numba.core import analysis, errors, ir, lowering, types
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


class ShortLowering:
    """Less code for arguments, variables and arrays; to inherit from before the class of a target.

    The attributes are the target's modules, and its class of assignments.
    """

    analysis: Any
    arrays: Any
    assignments: Any

    def setup_function(self: Any, fndesc: Any) -> None:
        """Declare the function, with our builder."""
        super().setup_function(fndesc)  # type: ignore[misc]
        self.builder.__class__ = _Builder

    def lower_normal_function(self: Any, fndesc: Any) -> None:
        """Write the function, and drop instructions whose value nothing uses."""
        super().lower_normal_function(fndesc)  # type: ignore[misc]
        _drop_unused(self.function)

    def lower_block(self: Any, block: Any) -> None:
        """As in numba, where the text for an error message is made for every instruction."""
        self.pre_block(block)
        for instruction in block.body:
            self.loc = instruction.loc
            try:
                self.lower_inst(instruction)
            except Exception:
                with new_error_context(
                    'lowering "{inst}" at {loc}', inst=instruction, loc=self.loc, errcls_=_lowering_error(self.loc)
                ):
                    raise
        self.post_block(block)

    def _find_singly_assigned_variable(self: Any) -> None:
        """Variables that are values: assigned once, before each use. In numba, those of a single block."""
        used_and_set = self.analysis.compute_use_defs(self.func_ir.blocks)
        dominators: Any = None
        assigned = Counter(
            statement.target.name
            for block in self.blocks.values()
            for statement in block.body
            if isinstance(statement, self.assignments)
        )
        defined = {name: label for label, names in used_and_set.defmap.items() for name in names}
        values = {name for name, times in assigned.items() if times == 1}
        for label, names in used_and_set.usemap.items():  # of names that come from other blocks
            for name in names & values:
                if dominators is None:
                    dominators = self.analysis.compute_cfg_from_blocks(self.func_ir.blocks).dominators()
                # Blocks are written in the order of their labels.
                if not (defined[name] < label and defined[name] in dominators[label]):
                    values.discard(name)
        self._singly_assigned_vars = values
        self._blk_local_varmap: dict[str, Any] = {}

    def storevar(self: Any, value: Any, name: str, argidx: Any = None) -> None:
        """Set a variable; numba would load its old value, to count a reference less."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def lower_getitem(self: Any, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Read an element of an array, whose fields are then needed as values only."""
        kind, index_kind = signature.args
        if self.typeof(value.name) != kind or not _is_element(kind, index_kind):
            return super().lower_getitem(resty, expr, value, index, signature)  # type: ignore[misc]
        pointer = self._element(kind, index_kind, value, index)
        read = self.arrays.load_item(self.context, self.builder, kind, pointer)
        return self.context.cast(self.builder, read, signature.return_type, resty)

    def lower_setitem(self: Any, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write an element of an array."""
        kind, index_kind, value_kind = signature.args
        if self.typeof(target_var.name) != kind or not _is_element(kind, index_kind):
            return super().lower_setitem(target_var, index_var, value_var, signature)  # type: ignore[misc]
        value = self.loadvar(value_var.name)
        pointer = self._element(kind, index_kind, target_var, index_var)
        value = self.context.cast(self.builder, value, self.typeof(value_var.name), value_kind)
        value = self.context.cast(self.builder, value, value_kind, kind.dtype)
        self.arrays.store_item(self.context, self.builder, kind, value, pointer)
        return None

    def _element(self: Any, kind: Any, index_kind: Any, array_var: Any, index_var: Any) -> Any:
        """The address of an element, by numba's own rules."""
        array = _Fields(self.context, self.builder, kind, self.loadvar(array_var.name))
        index = self.loadvar(index_var.name)
        index = self.context.cast(self.builder, index, self.typeof(index_var.name), index_kind)
        if isinstance(index_kind, types.BaseTuple):
            kinds: Any = tuple(index_kind.types)  # type: ignore[attr-defined]
            indices = [self.builder.extract_value(index, at) for at in range(len(kinds))]
        else:
            kinds, indices = (index_kind,), [index]
        pointer, _, _ = self.arrays.basic_indexing(
            self.context, self.builder, kind, array, kinds, indices, boundscheck=self.context.enable_boundscheck
        )
        return pointer


class Lower(ShortLowering, lowering.Lower):
    """The same for the CPU."""

    analysis, arrays, assignments = analysis, arrayobj, ir.Assign

    def setup_function(self, fndesc: Any) -> None:
        """Declare the function; a routine is too large to be inlined, even where LLVM would."""
        super().setup_function(fndesc)
        if isinstance(self.library, CalleeLibrary) and not fndesc.inline:
            self.function.attributes.add("noinline")


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
