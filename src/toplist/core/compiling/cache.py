"""Caches machine code on disk, each file under the fingerprint of all the code it was compiled from."""

from __future__ import annotations

import hashlib
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from toplist.core.compiling.fingerprint import Fingerprint, part_classes


class SourceCache(FunctionCache):
    """Numba's disk cache, with one file per signature and fingerprint of the code that the signature can call.

    Numba watches only the file of the compiled function, so it would use old machine code after an edit of a part. It
    also stores all signatures in one file, which becomes unreadable once a class named in it is gone. Parts defined in
    `__main__` cannot be imported again, so they are compiled in each process.
    """

    # Compiling again is the answer to any error with a cache file, a full disk included.

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if self._select_file(sig):
            with suppress(Exception):
                return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._select_file(sig):
            with suppress(Exception):
                for outdated in Path(self._cache_path).glob(f"{self._prefix}-*"):
                    outdated.unlink(missing_ok=True)
                super()._save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _select_file(self, sig: Any) -> bool:
        """Select the file of this signature; False if it must not be cached."""
        classes = [cls for argument in sig for cls in part_classes(argument)]
        modules = sorted({cls.__module__ for cls in classes} | {self._py_func.__module__})
        code = Fingerprint(self._py_func, *classes)
        if "__main__" in modules or not code.is_complete:
            return False
        signature_hash = hashlib.sha256(repr((modules, str(sig))).encode()).hexdigest()[:16]
        self._prefix = f"{self._impl.filename_base}-{signature_hash}"
        self._cache_file = _ChecksummedFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=f"{self._prefix}-{code}", source_stamp=str(code)
        )
        return True


class _ChecksummedFile(IndexDataCacheFile):
    """A cache file that is read only if its checksum is right: LLVM ends the process on damaged machine code."""

    def _save_data(self, name: str, data: Any) -> None:
        payload = self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(self._data_path(name)) as file:  # type: ignore[no-untyped-call]
            file.write(hashlib.sha256(payload).digest() + payload)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()  # type: ignore[no-untyped-call]
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            raise OSError(f"{name} is damaged")
        return pickle.loads(content[32:])
