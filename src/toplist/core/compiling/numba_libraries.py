"""LLVM code of functions: callees are kept for linking, and a whole program is optimised at once.

Private parts of numba, for `numba_private`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
from numba.core.codegen import JITCodeLibrary


class CalleeLibrary(JITCodeLibrary):
    """Code that is only linked into other code: neither optimised as a whole nor turned into machine code.

    Numba links the callees of a function into it, and then all of that into its callers. Here a library keeps its own
    functions only, and the whole program links each library once.
    """

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add code; numba would optimise each function here, and again where it was inlined."""
        _add(self, ll_module)

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
        for library in all_callees(self._linking_libraries):
            module.link_in(_own_module(library), preserve=True)
        return module

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether this code, or that of a callee, has addresses of this process in it: then it is not cached."""
        return any(library._dynamic_globals for library in (self, *all_callees(self._linking_libraries)))

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


class WholeLibrary(JITCodeLibrary):
    """A whole program: a function with all its callees, linked and optimised at once."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add code, to be optimised with the rest."""
        _add(self, ll_module)

    def finalize(self) -> None:
        """As in numba, but with the callees of callees."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in all_callees(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_own_module(library), preserve=True)
        self._hide_callees()
        builder: Any = self._codegen._pass_builder()  # type: ignore[no-untyped-call]
        builder.getModulePassManager().run(
            self._final_module, builder
        )  # numba's second round; its first is for references
        self._finalize_final_module()  # type: ignore[no-untyped-call]

    def _hide_callees(self) -> None:
        """Let LLVM see that nobody else calls them, so that it drops arguments that they do not use.

        A belief or a cache may have forty arrays of seven words each, which every call of a routine would copy.
        """
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvmlite.binding.Linkage.linkonce_odr:
                function.linkage = "internal"


def _add(library: Any, module: Any) -> None:
    module.data_layout = library._codegen._data_layout
    library._final_module.link_in(module)


def all_callees(libraries: list[Any]) -> list[Any]:
    """Libraries with those that they need, each one once."""
    found: dict[Any, None] = {}
    waiting = list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, CalleeLibrary):  # others were linked with all they need
                waiting.extend(reversed(library._linking_libraries))
    return list(found)


def _own_module(library: Any) -> Any:
    return library._final_module if isinstance(library, CalleeLibrary) else library._get_module_for_linking()
