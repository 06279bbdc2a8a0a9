"""Everything in toplist that uses private parts of numba; `numba_public` has the same functions without them.

- `_nrt=False` compiles without reference counting, which was the main cost of composed parts; and an allocation in a
  hot method becomes a compile error.
- `CalleeCompiler` compiles callees for linking. Numba optimises every callee separately and generates machine code for
  it, and then does all of it again within the caller. A policy calls some eighty functions, and none of them is called
  from Python, so this machine code is thrown away. Here a callee stays in LLVM's intermediate representation, and only
  the whole program is linked, optimised and turned into machine code, by `WholeCompiler`. That takes a third of the
  time, and LLVM optimises better when it sees everything.
- `ContentCache` caches machine code on disk under the content that it was compiled from, and `LinkingCache` code for
  linking: a simulation of the same policy with other users compiles neither `rank` nor `learn` again, and a policy
  with the same index no second copy of it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import compiler, itanium_mangler, registry, serialize
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import lookup_environment

from toplist.core.compiling import numba_public
from toplist.core.compiling.cache_folder import ENDING, cache_folder, machine, trim
from toplist.core.compiling.fingerprint import Fingerprint, part_classes
from toplist.core.compiling.only_cached import refuse_to_compile

_dumps: Any = serialize.dumps

OPTIONS: dict[str, Any] = numba_public.OPTIONS | {"_nrt": False}
WORTH_CACHING = 0.2  # seconds of compiling, callees included; to write a function takes about 0.03, to load it 0.01
BETWEEN_TRIMS = 16  # functions written by a process; to look at every file of a large cache takes as long as a write
_saves = count()


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


class _CalleeLibrary(JITCodeLibrary):
    """Code that is only linked into other code: neither optimised as a whole nor turned into machine code.

    Numba links the callees of a function into it, and then all of that into its callers. Here a library keeps its own
    functions only, and the whole program links each library once.
    """

    def finalize(self) -> None:
        """Numba would link, optimise and generate machine code here."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvmlite.binding.Linkage.external:
                function.linkage = "linkonce_odr"  # may be linked several times, and dropped where it is not called
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """This code with that of all callees, for programs that numba itself links."""
        module = self._final_module.clone()
        for library in _all_callees(self._linking_libraries):
            module.link_in(_own_module(library), preserve=True)
        return module

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether this code, or that of a callee, has addresses of this process in it: then it is not cached."""
        return any(library._dynamic_globals for library in (self, *_all_callees(self._linking_libraries)))

    def get_pointer_to_function(self, _: str) -> int:
        """There is no machine code to point to; numba writes that as 0."""
        return 0

    @property
    def codegen(self) -> Any:
        """Numba would set the address of the function's environment here; without machine code there is none."""
        return _IgnoredEnvironments()


class _IgnoredEnvironments:
    def set_env(self, _: str, __: Any) -> None:
        pass


class _WholeLibrary(JITCodeLibrary):
    """A whole program: a function with all its callees, linked and optimised at once."""

    def finalize(self) -> None:
        """As in numba, but with the callees of callees."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in _all_callees(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_own_module(library), preserve=True)
        self._hide_callees()
        self._optimize_final_module()  # type: ignore[no-untyped-call]
        self._final_module.verify()
        self._finalize_final_module()  # type: ignore[no-untyped-call]

    def _hide_callees(self) -> None:
        """Let LLVM see that nobody else calls them, so that it drops arguments that they do not use.

        A belief or a cache may have forty arrays of seven words each, which every call of a routine would copy.
        """
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvmlite.binding.Linkage.linkonce_odr:
                function.linkage = "internal"


def _all_callees(libraries: list[Any]) -> list[Any]:
    """Libraries with those that they need, each one once."""
    found: dict[Any, None] = {}
    waiting = list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, _CalleeLibrary):  # others were linked with all they need
                waiting.extend(reversed(library._linking_libraries))
    return list(found)


def _own_module(library: Any) -> Any:
    return library._final_module if isinstance(library, _CalleeLibrary) else library._get_module_for_linking()


class WholeCompiler(compiler.Compiler):
    """Compiles a function to machine code, and its callees to code for linking."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba; then set the environments of the callees, which have their addresses only now."""
        state = self.state
        state.targetctx.mangler = _symbol
        state.library = _WholeLibrary(state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True  # it is never called from C
        with numba_public.rare_garbage_collection():
            result: Any = super().compile_extra(func)  # type: ignore[no-untyped-call]
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class CalleeCompiler(compiler.Compiler):
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
        cache = LinkingCache(func, f"linked, {state.flags.forceinline}")
        result = cache.load_overload(state.args, state.targetctx)
        if result is None or result.signature.args != tuple(state.args):  # as of a class defined within a function
            before = time.thread_time()
            result = self._compile(func)
            if time.thread_time() - before > WORTH_CACHING:
                cache.save_overload(state.args, result)
        return result

    def _compile(self, func: Any) -> Any:
        state = self.state
        state.targetctx.mangler = _symbol
        state.library = _CalleeLibrary(state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        # No wrappers: neither Python nor C will call it.
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


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


# The cache ------------------------------------------------------------------------------------------------------------


class ContentCache:
    """The disk cache of a dispatcher: one file per signature, named by all the code that the signature can call.

    Numba's own cache watches only the file of the compiled function, so it would use old machine code after an edit of
    a part. Parts defined in `__main__` cannot be imported again, so they are compiled in each process.
    """

    # Compiling again is the answer to any error with a cache file, a full disk included.

    def __init__(self, function: Any, options: str = "") -> None:
        self._function, self._options = function, options

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return os.fspath(cache_folder() or "")

    def flush(self) -> None:
        """Numba calls this before it compiles all signatures again."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function from the disk; None if it is not there, and is to be compiled."""
        file = self._file(signature)
        if file is None:
            return None
        with suppress(Exception):
            content = file.read_bytes()
            if hashlib.sha256(content[32:]).digest() == content[:32]:  # LLVM ends the process on damaged machine code
                result = self.unpack(pickle.loads(content[32:]), target_context)
                os.utime(file)  # so that `trim` deletes others first
                return result
        refuse_to_compile(self._function.__name__)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write a compiled function to the disk."""
        file = self._file(signature)
        if file is None or getattr(result.library, "has_dynamic_globals", False):
            return
        with suppress(Exception):
            payload: bytes = _dumps(self.pack(result))
            with tempfile.NamedTemporaryFile(
                dir=file.parent, prefix="writing-", suffix=ENDING, delete=False
            ) as written:
                try:
                    written.write(hashlib.sha256(payload).digest() + payload)
                    written.close()
                    os.replace(written.name, file)
                except BaseException:
                    os.unlink(written.name)
                    raise
            if next(_saves) % BETWEEN_TRIMS == 0:
                trim(file.parent)

    def pack(self, result: Any) -> Any:
        """What is pickled of a compiled function: itself."""
        return result

    def unpack(self, content: Any, _: Any) -> Any:
        """The compiled function from what was pickled, and numba's context."""
        return content

    def _file(self, signature: Any) -> Path | None:
        """The file of this signature; None if it must not be cached."""
        folder = cache_folder()
        classes = [cls for argument in signature for cls in part_classes(argument)]
        modules = sorted({cls.__module__ for cls in classes} | {self._function.__module__})
        code = Fingerprint(self._function, *classes)
        if folder is None or "__main__" in modules or not code.is_complete:
            return None
        content = repr((machine(), sorted(OPTIONS.items()), str(code), modules, str(signature), self._options))
        return folder / f"{self._function.__name__}-{hashlib.sha256(content.encode()).hexdigest()[:40]}{ENDING}"


class WholeCache(ContentCache):
    """The disk cache of a function with machine code."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function, of this signature: a class from within a function is another one where it is read."""
        result = super().load_overload(signature, target_context)
        return result and result._replace(signature=result.signature.replace(args=tuple(signature)))

    def pack(self, result: Any) -> Any:
        """The machine code, and what numba knows of the function."""
        return result._reduce()

    def unpack(self, content: Any, target_context: Any) -> Any:
        """The function, loaded."""
        target_context.refresh()
        return compiler.CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]


class LinkingCache(ContentCache):
    """The disk cache of a callee: code for linking, with all that it calls itself."""

    def pack(self, result: Any) -> Any:
        """The code, and what numba knows of the function."""
        module = result.library._get_module_for_linking()
        names = [variable.name for variable in module.global_variables]
        environments = [lookup_environment(name) for name in names]  # type: ignore[no-untyped-call]
        environments = [environment for environment in environments if environment is not None]
        result.fndesc.typemap = result.fndesc.calltypes = None  # large, and of no more use
        libraries = [result.library, *_all_callees(result.library._linking_libraries)]
        reload_init = {function for library in libraries for function in library._reload_init}
        return module.as_bitcode(), result.fndesc, result.environment, result.signature, environments, reload_init

    def unpack(self, content: Any, target_context: Any) -> Any:
        """The function, known to numba."""
        bitcode, descriptor, environment, signature, environments, reload_init = content
        target_context.refresh()
        for function in reload_init:
            function()
        library: Any = _CalleeLibrary(target_context.codegen(), descriptor.qualname)  # type: ignore[no-untyped-call]
        library._final_module = llvmlite.binding.parse_bitcode(bitcode)
        library._reload_init.update(reload_init)
        library.finalize()
        entry_point = target_context.get_executable(library, descriptor, environment)
        target_context.insert_user_function(entry_point, descriptor, [library])
        return compiler.compile_result(  # type: ignore[no-untyped-call]
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=entry_point,
            library=library,
            signature=signature,
            objectmode=False,
            lifted=(),
            fndesc=descriptor,
            environment=environment,
            reload_init=list(reload_init),
            referenced_envs=environments,
        )


# The self-test --------------------------------------------------------------------------------------------------------


def self_test() -> None:
    """Compile and run a small program; raises an error if this numba does not do what this module relies on."""
    numba.extending.register_jitable(**callee_options(), forceinline=True)(_increment)
    values = np.arange(3.0)
    signature = (numba.typeof(values),)  # type: ignore[no-untyped-call]
    result = _self_tested("a function with callees", values)
    payload = pickle.loads(_dumps(result._reduce()))
    restored = compiler.CompileResult._rebuild(result.target_context, *payload)  # type: ignore[no-untyped-call]
    _expect(restored.entry_point(values) == 6.0, "machine code read back")
    (known,) = [key for key in compiled_callees if key[0] is _next_one]
    cache = LinkingCache(_next_one)
    packed = pickle.loads(_dumps(cache.pack(compiled_callees[known])))
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
