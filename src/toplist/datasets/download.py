"""Downloads a data set from its official address: `python -m toplist.datasets.download NAME FOLDER`.

The download is checked and stored unchanged, as one file that the loaders read; nothing is unpacked, and no file is
overwritten.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.support.files import AnyPath, replace_file
from toplist.support.script import run_script

GROUPLENS = "https://files.grouplens.org/datasets"
SONGS = "http://millionsongdataset.com/sites/default/files"
TAGTRAUM = "https://www.tagtraum.com/genres"
TIMEOUT = 60  # seconds without a byte
PIECE = 1 << 20
MIB = 1 << 20

MOVIELENS_TERMS = "MovieLens is for research: no commercial use without permission, and no redistribution; cite it."
LASTFM_TERMS = "Last.fm of HetRec 2011 is for non-commercial use; cite Last.fm and the workshop."
SONG_TERMS = (
    "The Million Song data come under The Echo Nest's terms, for research and not for commercial use; see "
    "http://millionsongdataset.com, and cite them."
)
TAGTRAUM_TERMS = (
    "The tagtraum annotations are offered to research; see https://www.tagtraum.com/msd_genre_datasets.html, and cite "
    "Schreiber, ISMIR 2015."
)


class NotDownloaded(InvalidInput):
    """A data set could not be downloaded, or the download is not what it should be."""


class Offer(NamedTuple):
    """A file that can be downloaded.

    Parameters
    ----------
    address : str
        Its URL.
    most : int
        Upper limit of its size in bytes; a longer answer is refused.
    terms : str
        Terms of use, in a sentence.
    reader : str
        Name of the module that reads it.
    sha256 : str, default ""
        Its SHA-256, if known.
    published : bool, default False
        Whether its MD5 is published at the same URL with .md5 appended.
    """

    address: str
    most: int
    terms: str
    reader: str
    sha256: str = ""
    published: bool = False


OFFERS = {
    "ml-100k": Offer(f"{GROUPLENS}/movielens/ml-100k.zip", 20 * MIB, MOVIELENS_TERMS, "movielens", published=True),
    "ml-1m": Offer(f"{GROUPLENS}/movielens/ml-1m.zip", 20 * MIB, MOVIELENS_TERMS, "movielens", published=True),
    "ml-latest-small": Offer(
        f"{GROUPLENS}/movielens/ml-latest-small.zip", 20 * MIB, MOVIELENS_TERMS, "movielens", published=True
    ),
    "lastfm": Offer(
        f"{GROUPLENS}/hetrec2011/hetrec2011-lastfm-2k.zip",
        20 * MIB,
        LASTFM_TERMS,
        "lastfm",
        # Its owners publish none; several independent projects recorded this one.
        sha256="6738f48195667ff03caaab4d32ca9a3133d8cc026b7c3cdaf6ce1010e913c59c",
    ),
    "taste-profile": Offer(f"{SONGS}/challenge/train_triplets.txt.zip", 1024 * MIB, SONG_TERMS, "million_song"),
    "unique-tracks": Offer(f"{SONGS}/AdditionalFiles/unique_tracks.txt", 200 * MIB, SONG_TERMS, "million_song"),
    "tagtraum-cd1": Offer(f"{TAGTRAUM}/msd_tagtraum_cd1.cls.zip", 50 * MIB, TAGTRAUM_TERMS, "million_song"),
    "tagtraum-cd2": Offer(f"{TAGTRAUM}/msd_tagtraum_cd2.cls.zip", 50 * MIB, TAGTRAUM_TERMS, "million_song"),
    "tagtraum-cd2c": Offer(f"{TAGTRAUM}/msd_tagtraum_cd2c.cls.zip", 50 * MIB, TAGTRAUM_TERMS, "million_song"),
}
ELSEWHERE = {  # data sets whose terms must be accepted by hand
    "yelp": "agree to its terms at https://www.yelp.com/dataset and download it there",
    "yandex": "agree to its terms at https://www.kaggle.com/c/yandex-personalized-web-search-challenge",
    "song-to-tracks": "use unique-tracks, which has the same content, or get it at https://www.kaggle.com/c/msdchallenge",
}


def fetch(name: str, folder: AnyPath, sha256: str | None = None, tell: Callable[[str], object] = print) -> Path:
    """Download a data set to a folder, check it, and print its terms of use.

    The file is compared with the checksum that its owners publish, with a known one, or with the SHA-256 given. Without
    any, a zip file is checked by the checksums inside, and its SHA-256 is printed for the next time.

    Parameters
    ----------
    name : str
        One of `OFFERS`.
    folder : str or path-like
        An existing folder, without the file.
    sha256 : str, optional
        The SHA-256 that the file must have.
    tell : callable, default print
        Receives each message.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    NotDownloaded
        If the file cannot be downloaded, or is damaged or different.
    InvalidInput
        If the name is unknown, or the file exists.
    """
    offer = _offer(name)
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", str(sha256)):
        raise refuse("The SHA-256", sha256, "64 hexadecimal digits", "copy them all")
    if not isinstance(folder, str | os.PathLike) or not os.path.isdir(folder):
        given = os.fspath(folder) if isinstance(folder, os.PathLike) else folder
        raise refuse("The folder", given, "a folder that exists", "create it first")
    target = Path(folder) / PurePosixPath(urlsplit(offer.address).path).name
    if os.path.lexists(target):
        raise refuse("The file to write", str(target), "a new one", "use it, or move it away first")
    tell(offer.terms)
    md5 = _published_md5(f"{offer.address}.md5") if offer.published else ""
    with replace_file(target, "The file to write") as new:
        found = _download(offer, new)
        checks = [("MD5", md5, found["md5"]), ("SHA-256", (sha256 or offer.sha256).lower(), found["sha256"])]
        for kind, wanted, got in checks:
            if wanted and wanted != got:
                advice = "try again, and if it stays so, the file was changed: see what its owners say"
                raise NotDownloaded(f"{offer.address} has the {kind} {got}, but must have {wanted}; {advice}.")
        agreed = ", ".join(f"{kind} {wanted} as it should be" for kind, wanted, _ in checks if wanted)
        if target.suffix == ".zip":
            _check_zip(offer.address, new)
    known = agreed or f"no checksum is published; SHA-256 {found['sha256']}"
    tell(f"{target}: {found['bytes']:,} bytes, {known}. Read it with toplist.datasets.{offer.reader}.")
    return target


def _offer(name: str) -> Offer:
    """The offer of this name; the error says where else to get a data set."""
    if isinstance(name, str) and name in ELSEWHERE:
        raise refuse("The data set", name, "one that a program may download", ELSEWHERE[name])
    if not isinstance(name, str) or name not in OFFERS:
        advice = nearest(name, OFFERS, "choose one of them")
        raise refuse("The data set", name, f"one of {', '.join(OFFERS)}", advice)
    return OFFERS[name]


def _download(offer: Offer, new: Path) -> dict[str, Any]:
    """Download to a new file: its size and checksums."""
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with _open(offer.address) as answer, new.open("xb") as file:
        expected = answer.headers.get("Content-Length")
        if expected is not None and int(expected) > offer.most:
            raise _too_large(offer)
        while piece := answer.read(PIECE):
            size += len(piece)
            if size > offer.most:
                raise _too_large(offer)
            md5.update(piece)
            sha256.update(piece)
            file.write(piece)
    if expected is not None and size != int(expected):
        raise NotDownloaded(f"{offer.address} broke off after {size:,} of {int(expected):,} bytes; try again.")
    return {"bytes": size, "md5": md5.hexdigest(), "sha256": sha256.hexdigest()}


def _published_md5(address: str) -> str:
    """The MD5 that the owners publish at this address."""
    with _open(address) as answer:
        text = answer.read(PIECE).decode("latin-1")
    found = re.search(r"\b[0-9a-fA-F]{32}\b", text)
    if found is None:
        raise NotDownloaded(f"{address} begins with {text[:60]!r}, but must hold an MD5; try again later.")
    return found.group().lower()


@contextmanager
def _open(address: str) -> Iterator[Any]:
    """The response from an address."""
    by_hand = f"see whether you are online, or download {address} in another way"
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            if address.startswith("https:") and not answer.url.startswith("https:"):
                raise NotDownloaded(f"{address} leads to {answer.url}, which is not encrypted; {by_hand}.")
            yield answer
    except urllib.error.HTTPError as problem:
        problem.close()
        raise NotDownloaded(f"{address} answers {problem.code} {problem.reason}; {by_hand}.") from None
    except (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException) as problem:
        reason = str(getattr(problem, "reason", problem)) or type(problem).__name__
        raise NotDownloaded(f"{address} cannot be reached ({reason}); {by_hand}.") from None


def _check_zip(address: str, path: Path) -> None:
    """Refuse an archive with a damaged file."""
    try:
        with zipfile.ZipFile(path) as archive:
            try:
                damaged = archive.testzip() is not None
            except (zipfile.BadZipFile, zlib.error, EOFError):
                damaged = True
    except zipfile.BadZipFile:
        raise NotDownloaded(f"{address} is not a zip file, but must be one; open it in a browser.") from None
    if damaged:
        raise NotDownloaded(f"{address} contains a damaged file; try again.")


def _too_large(offer: Offer) -> NotDownloaded:
    return NotDownloaded(
        f"{offer.address} has more than {offer.most // MIB} MiB, but the data set is smaller; see what its owners say."
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command; its exit code."""
    parser = argparse.ArgumentParser(description="Download a data set from its official address, and check it.")
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(OFFERS)}")
    parser.add_argument("folder", metavar="FOLDER", help="folder for the file, which must not exist yet")
    parser.add_argument("--sha256", help="the SHA-256 that the file must have")
    options = parser.parse_args(arguments)

    def download() -> int:
        fetch(options.name, options.folder, options.sha256)
        return 0

    return run_script(download)


if __name__ == "__main__":
    sys.exit(main())
