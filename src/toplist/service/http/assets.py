"""Files for browsers, built from `frontend/`: each by its name, and by a name with the hash of its content."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import PurePath
from typing import NamedTuple

JAVASCRIPT = "text/javascript; charset=utf-8"
_MEDIA = {".js": JAVASCRIPT, ".css": "text/css; charset=utf-8"}
_HASH = 12  # digits of a name
_SHORTLY = "public, max-age=300"  # under its plain name, a new version is used after five minutes
_FOREVER = "public, max-age=31536000, immutable"
_FOR_ALL = {"access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin"}
FOR_OTHER_PAGES = ("tracker.js",)  # what pages of other origins load


class Asset(NamedTuple):
    """A file with its headers."""

    body: bytes
    media: str
    headers: dict[str, str]


class Assets:
    """All files for browsers.

    Attributes
    ----------
    by_name : dict of str to Asset
        The files, each under both of its names.
    hashed : dict of str to str
        The name with a hash, by the plain one.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Asset] = {}
        self.hashed: dict[str, str] = {}
        for file in files("toplist.service.http").joinpath("assets").iterdir():
            path = PurePath(file.name)
            if path.suffix not in _MEDIA:
                continue
            body, media = file.read_bytes(), _MEDIA[path.suffix]
            hashed = f"{path.stem}.{hashlib.sha256(body).hexdigest()[:_HASH]}{path.suffix}"
            shared = _FOR_ALL if file.name in FOR_OTHER_PAGES else {}
            self.hashed[file.name] = hashed
            self.by_name[file.name] = Asset(body, media, {"cache-control": _SHORTLY, **shared})
            self.by_name[hashed] = Asset(body, media, {"cache-control": _FOREVER, **shared})
