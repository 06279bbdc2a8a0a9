"""Everything in toplist that uses private parts of numba; `numba_public` has the same functions without them.

- `_nrt=False` compiles without reference counting, which was the main cost of composed parts; and an allocation in a
  hot method becomes a compile error.
- `CalleeCompiler` compiles callees for linking. Numba optimises every callee separately and generates machine code for
  it, and then does all of it again within the caller. A policy calls some eighty functions, and none of them is called
  from Python, so this machine code is thrown away. Here a callee stays in LLVM's intermediate representation, and only
  the whole program is linked, optimised and turned into machine code, by `WholeCompiler`. That takes a third of the
  time, and LLVM optimises better when it sees everything. The code for that is in `numba_libraries`.
- `numba_passes` and `numba_lowering` compile a function in fewer steps than numba, and to less code for LLVM.
- `numba_cache` caches machine code on disk under the content that it was compiled from, and code for linking: a
  simulation of the same policy with other users compiles neither `rank` nor `learn` again, and a policy with the same
  index no second copy of it.
"""

from __future__ import annotations

import os
import pickle
import secrets
import time
from typing import Any

import numba
import numpy as np
from numba.core import compiler, itanium_mangler, registry, typed_passes, untyped_passes

from toplist.core.compiling.numba_cache import OPTIONS, ContentCache, LinkingCache, WholeCache, dumps
from toplist.core.compiling.numba_for_cuda import short_cuda
from toplist.core.compiling.numba_libraries import CalleeLibrary, WholeLibrary
from toplist.core.compiling.numba_lowering import Lower
from toplist.core.compiling.numba_passes import ShortPipeline, is_ordinary
from toplist.core.compiling.numba_shortcuts import CpuFlags, find_scipy_later, shortcuts

__all__ = ["OPTIONS", "ContentCache", "LinkingCache", "short_cuda"]

# Seconds of compiling, with callees that are not on the disk; to write a function takes about 0.03, to load it 0.01.
WORTH_CACHING = 0.2


def callee_options() -> dict[str, Any]:
    """Options of functions that only compiled code calls."""
    return OPTIONS | {"pipeline_class": CalleeCompiler}


def compile_whole(function: Any) -> Any:
    """A dispatcher that compiles a function and everything it calls; its machine code is cached on disk."""
    dispatcher: Any = numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(function)
    dispatcher._cache = WholeCache(function, "hidden callees")
    return dispatcher


def keep_on_disk(dispatcher: Any, function: Any, options: str) -> None:
    """Cache on disk what a dispatcher of another target compiles; options are all that it depends on beside code."""
    dispatcher._cache = ContentCache(function, options)


# Compiling in one pass ------------------------------------------------------------------------------------------------


class _Lowering(typed_passes.NativeLowering):
    """numba's pass that writes LLVM code, with our way to write it."""

    @property
    def lowering_class(self) -> Any:
        """What writes the code."""
        return Lower


class _Compiler(compiler.Compiler):
    """Takes the shortest way for ordinary functions."""

    def _compile_core(self) -> Any:
        self.state.flags = CpuFlags.of(self.state.flags)
        return super()._compile_core()  # type: ignore[no-untyped-call]

    def define_pipelines(self) -> Any:
        """Steps from byte code to code for LLVM."""
        if is_ordinary(self.state.func_id.func, self.state.flags):
            write = typed_passes.NoPythonSupportedFeatureValidation, _Lowering, typed_passes.NoPythonBackend
            return [ShortPipeline("numba.core", untyped_passes.TranslateByteCode, *write)]
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class WholeCompiler(_Compiler):
    """Compiles a function to machine code, and its callees to code for linking."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba; then set the environments of the callees, which have their addresses only now."""
        state = self.state
        state.targetctx.mangler = _symbol
        state.library = WholeLibrary(state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True  # it is never called from C
        with shortcuts(_compile_callee):
            result: Any = super().compile_extra(func)  # type: ignore[no-untyped-call]
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class CalleeCompiler(_Compiler):
    """Compiles a function for linking, once for all its callers."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba, but into a library without machine code."""
        state = self.state
        # Numba would compile it again for every combination of its callers' options.
        key = func, tuple(state.args), state.return_type, state.flags.forceinline
        if key not in compiled_callees:
            result = self._load_or_compile(func)
            compiled_callees[key] = result._replace(metadata=None)  # of one compilation, which numba would write twice
        return compiled_callees[key]

    def _load_or_compile(self, func: Any) -> Any:
        """Load a callee with all that it calls itself, or compile it: other policies and processes call it too."""
        state = self.state
        if _is_of_numba(func):  # one of many of the same name
            return self._compile(func)
        cache = LinkingCache(func, f"linked, {state.flags.forceinline}")
        result = cache.load_overload(state.args, state.targetctx)
        if result is None or result.signature.args != tuple(state.args):  # as of a class defined within a function
            begun, kept = time.thread_time(), _kept.seconds
            result = self._compile(func)
            seconds = time.thread_time() - begun
            if seconds - (_kept.seconds - kept) > WORTH_CACHING:
                cache.save_overload(state.args, result)
                _kept.seconds = kept + seconds
        return result

    def _compile(self, func: Any) -> Any:
        state = self.state
        state.targetctx.mangler = _symbol
        state.library = CalleeLibrary(state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        # No wrappers: neither Python nor C will call it.
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


def _compile_callee(typing: Any, target: Any, func: Any, *others: Any, **options: Any) -> Any:
    """As numba's `compile_extra`, but its own functions, as `max`, are compiled for linking too.

    Those of others may be called from Python as well.
    """
    flags = options["flags"]
    if _is_of_numba(func) and not flags.nrt and options["pipeline_class"] is compiler.Compiler:
        options["pipeline_class"] = CalleeCompiler
    return compile_extra(typing, target, func, *others, **options)


def _is_of_numba(function: Any) -> bool:
    return str(function.__module__).partition(".")[0] == "numba"


compile_extra: Any = compiler.compile_extra


class _Kept:
    """How long those callees took to compile that were written to the disk."""

    seconds = 0.0


_kept = _Kept()
compiled_callees: dict[Any, Any] = {}  # numba keeps them for the life of the process too
_PROCESS = secrets.token_hex(8)


def _symbol(name: str, _: Any, *, abi_tags: Any = (), uid: int | None = None) -> str:  # noqa: ARG001 - numba passes them
    """A function's name in LLVM, unlike all others in this process and in code that it may load from the cache.

    Numba's own names spell out the types of all arguments: with a policy these are kilobytes, in every call.
    """
    symbol: str = itanium_mangler.mangle(name, (), abi_tags=(f"{_PROCESS}{os.getpid():x}",), uid=uid)  # type: ignore[no-untyped-call]
    return symbol


# Machine code by its address ------------------------------------------------------------------------------------------


def code_address(dispatcher: Any, signature: tuple[Any, ...]) -> int:
    """The address of the machine code of a function for arguments of these types, compiled where it is not yet."""
    if signature not in dispatcher.overloads:
        dispatcher.compile(signature)
    result = dispatcher.overloads[signature]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def call_machine_code(context: Any, builder: Any, result: Any, kinds: Any, arguments: Any) -> Any:
    """Write a call of machine code: its address is the first argument, the others are of the given types."""
    convention = context.call_conv
    kind = convention.get_function_type(result, kinds).as_pointer()
    code = builder.inttoptr(arguments[0], kind)
    status, returned = convention.call_function(builder, code, result, kinds, arguments[1:])
    with builder.if_then(status.is_error, likely=False):
        convention.return_status_propagate(builder, status)
    return returned


def bytes_in_memory(kind: Any) -> int:
    """How many bytes a value of this type takes where machine code writes it."""
    context = registry.cpu_target.target_context
    return int(context.get_abi_sizeof(context.get_value_type(kind)))


# The self-test --------------------------------------------------------------------------------------------------------


def self_test() -> None:
    """Compile and run a small program; raises an error if this numba does not do what this module relies on."""
    find_scipy_later()
    numba.extending.register_jitable(**callee_options(), forceinline=True)(_increment)
    values = np.arange(3.0)
    signature = (numba.typeof(values),)  # type: ignore[no-untyped-call]
    result = _self_tested("a function with callees", values)
    payload = pickle.loads(dumps(result._reduce()))
    restored = compiler.CompileResult._rebuild(result.target_context, *payload)  # type: ignore[no-untyped-call]
    _expect(restored.entry_point(values) == 6.0, "machine code read back")
    (known,) = [key for key in compiled_callees if key[0] is _next_one]
    cache = LinkingCache(_next_one)
    packed = pickle.loads(dumps(cache.pack(compiled_callees[known])))
    compiled_callees[known] = cache.unpack(packed, result.target_context)
    _self_tested("a callee read back", values)
    code = code_address(compile_whole(_next_one), (numba.float64,))
    _expect(numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(_call)(code, 2.0) == 3.0, "a call by address")
    _expect(bytes_in_memory(numba.types.Tuple((numba.float64, numba.boolean))) == 16, "the size of a value")  # type: ignore[no-untyped-call]
    try:
        numba.njit(**OPTIONS)(_allocate).compile(signature)
    except numba.core.errors.NumbaError as error:
        _expect("NRT required" in str(error), "the refusal of an allocation")
    else:
        _expect(False, "the refusal of an allocation")


def _self_tested(what: str, values: Any) -> Any:
    next_one = numba.njit(**callee_options())(_next_one)

    def sum_of_next_ones(values: Any) -> float:
        total = 0.0
        for value in values:
            total += next_one(value)
        return total

    total: Any = numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(sum_of_next_ones)
    _expect(total(values) == 6.0, what)
    (result,) = total.overloads.values()
    return result


def _expect(works: bool, what: str) -> None:
    if not works:
        raise RuntimeError(f"{what} does not work")


def _increment(number: float) -> float:
    return number + 1.0


def _next_one(number: float) -> float:
    return _increment(number)


def _call(code: int, number: float) -> Any:
    return _call_code(code, number)  # type: ignore[call-arg]  # compiled code passes no context


@numba.extending.intrinsic
def _call_code(_: Any, code: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return call_machine_code(context, builder, number, (number,), arguments)

    return number(code, number), generate


def _allocate(values: Any) -> float:
    return float((2.0 * values).sum())
