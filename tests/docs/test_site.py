"""The documentation site: builds without a network and without a warning, and leaves nothing public out."""

import hashlib
import importlib.metadata
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import toplist
import toplist.datasets
from toplist import cli
from toplist.cli.parser import Parser
from toplist.experiments import reproduction_page as reproduction
from toplist.experiments.experiment import Outcome
from toplist.experiments.library import library
from toplist.service.log import events, pools
from toplist.service.store import row_kinds
from toplist.service.wire import Event
from toplist.support import catalogue
from toplist.support.docstrings import descriptions

ROOT = Path(__file__).parent.parent.parent

BUILD = """
import gc, sys

gc.disable()  # nothing of the many documents is garbage before the end

def refuse(event, details):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise OSError(f"the build looked for a network: {event} {details}")

sys.addaudithook(refuse)
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""


def fingerprint() -> str:
    """Of everything that the site is made from: documents, docstrings, examples, this build and the packages used."""
    content = hashlib.sha256(BUILD.encode())
    places = [ROOT / "docs", ROOT / "src", ROOT / "examples", *ROOT.glob("*.md"), ROOT / "pyproject.toml"]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    for file in sorted(file for file in files if file.is_file() and "__pycache__" not in file.parts):
        content.update(f"{file.relative_to(ROOT)} {file.stat().st_size} ".encode() + file.read_bytes())
    installed = sorted(f"{one.name} {one.version}" for one in importlib.metadata.distributions())
    content.update(repr((sys.version, installed)).encode())
    return content.hexdigest()


@pytest.fixture(scope="module")
def site(pytestconfig: pytest.Config) -> Path:
    """The site as `make docs` builds it; all tests that need it are in this file, so that it is built once.

    It is kept with pytest's cache, under what it is made from: it is built again when any of that has changed. A build
    that fails is not kept.
    """
    assert pytestconfig.cache is not None
    kept = Path(pytestconfig.cache.mkdir("site"))
    built = kept / fingerprint()
    if not built.exists():
        shutil.rmtree(kept)  # what earlier content gave
        kept.mkdir()
        with tempfile.TemporaryDirectory(dir=kept) as folder:
            html = Path(folder) / "html"
            build = [sys.executable, "-c", BUILD, "-W", "--keep-going", "-q", "-b", "html", "-d", f"{folder}/trees"]
            done = subprocess.run([*build, "docs", str(html)], cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            html.rename(built)
    return built


@pytest.fixture(scope="module")
def inventory(site: Path) -> dict[str, set[str]]:
    """What the site documents, by kind."""
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    found: dict[str, set[str]] = {}
    for line in zlib.decompress(packed).decode().splitlines():
        name, kind, *_ = line.rsplit(" ", 4) if line.count(" ") == 4 else re.split(r" (?=\w+:\w+ )", line, maxsplit=1)
        found.setdefault(kind.split()[0], set()).add(name)
    return found


def resolve(name: str) -> Any:
    """What a dotted name stands for; None where it is nothing that can be imported."""
    value: Any = toplist
    for part in name.split(".")[1:]:
        if not hasattr(value, part) and isinstance(value, ModuleType):
            importlib.import_module(f"{value.__name__}.{part}")
        value = getattr(value, part, None)
    return value


READERS = [one.name for one in pkgutil.iter_modules(toplist.datasets.__path__) if one.name != "sources"]


def public_modules() -> list[ModuleType]:
    named = [getattr(toplist, name) for name in toplist.__all__]
    imported = [*(f"toplist.datasets.{name}" for name in READERS), "toplist.service.client"]
    return [
        toplist,
        *(value for value in named if isinstance(value, ModuleType)),
        *map(importlib.import_module, imported),
    ]


def public_names(module: ModuleType) -> Iterator[str]:
    """What a module exports: its `__all__`, or else the classes and functions that it defines."""
    if hasattr(module, "__all__"):
        yield from module.__all__
        return
    for name, value in vars(module).items():
        defined = inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "py_func")
        if defined and not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
            yield name


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_every_public_name_is_documented(module: ModuleType, inventory: dict[str, set[str]]) -> None:
    documented = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    objects = {id(resolve(name)) for name in documented if name.startswith("toplist")} - {id(None)}
    missing = [
        name
        for name in public_names(module)
        if f"{module.__name__}.{name}" not in documented and id(getattr(module, name)) not in objects
    ]
    assert not missing, f"the pages in docs/api lack {', '.join(missing)} of {module.__name__}"


class Section(NamedTuple):
    """What one section of a page says."""

    text: str
    code: set[str]  # what is set as code in it, outside of longer examples


class Sections(HTMLParser):
    """Takes a page apart into its sections, by their identifiers."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.text: dict[str, list[str]] = {}
        self.code: dict[str, list[str]] = {}
        self._open: list[list[str]] = []
        self._in_code = False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        identifier = dict(attrs).get("id") or ""
        if tag == "section":
            self._open.append([identifier])
        elif tag == "span" and self._open and identifier:
            self._open[-1].append(identifier)  # a second name of the same section
        elif tag == "code":
            self._in_code = True
            for one in self._here():
                self.code.setdefault(one, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._open.pop()
        elif tag == "code":
            self._in_code = False

    def handle_data(self, data: str) -> None:
        for identifier in self._here():
            self.text.setdefault(identifier, []).append(data)
            if self._in_code:
                self.code[identifier][-1] += data

    def _here(self) -> list[str]:
        return [identifier for section in self._open for identifier in section]

    def named(self, identifier: str) -> Section:
        assert identifier in self.text, f"there is no section {identifier}"
        return Section(" ".join("".join(self.text[identifier]).split()), set(self.code.get(identifier, [])))


@pytest.mark.parametrize("name", toplist.catalogue())
def test_every_policy_is_documented(name: str, site: Path) -> None:
    entry, section = toplist.catalogue()[name], Sections(site / "policies.html").named(f"policy-{name}")
    capabilities = [word for word, fact in entry.make().capabilities()._asdict().items() if isinstance(fact, bool)]
    assert {name, *entry.parameters, *capabilities} <= section.code
    meanings = descriptions(inspect.getdoc(entry.build) or "")
    for parameter, default in entry.parameters.items():
        assert default is catalogue.REQUIRED or repr(default) in section.code, f"no default of {parameter}"
        meaning = " ".join(meanings[parameter].replace("`", "").split())
        assert meaning, f"no meaning of {parameter}"
        assert meaning in section.text, f"no meaning of {parameter}"
    assert entry.title in section.text
    assert entry.summary.replace("`", "") in section.text
    assert f"`{name}`" in (ROOT / "docs" / "choosing.md").read_text(), f"docs/choosing.md says nothing of {name}"


def parsers(parser: Parser, name: str) -> Iterator[tuple[str, Parser]]:
    """A parser and all those of its commands."""
    yield name, parser
    for word, command in parser.commands().items():
        yield from parsers(command, f"{name}-{word}")


PARSERS = dict(parsers(cli.parser(), "toplist"))


@pytest.mark.parametrize("name", PARSERS)
def test_every_command_and_flag_is_documented(name: str, site: Path) -> None:
    code = Sections(site / "commands.html").named("commands" if name == "toplist" else name).code
    documented = {word for written in code for word in written.split()[:1]}
    for action in PARSERS[name].arguments():
        word = action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}"
        missing = [flag for flag in action.option_strings or [str(word)] if flag not in documented]
        assert not missing, f"docs/commands.md lacks {missing} of {name}"
        assert action.help, f"{name} {action.dest} has no help"


@pytest.mark.parametrize("title", ["worlds", "users", "starts"])
def test_everything_that_flags_can_name_is_documented(title: str, site: Path) -> None:
    known: catalogue.Catalogue = getattr(catalogue, title.upper())
    section = Sections(site / "commands.html").named(title)
    for entry in known.entries().values():
        given = {
            name if default is catalogue.REQUIRED else f"{name}={default!r}"
            for name, default in entry.parameters.items()
        }
        assert {entry.name, *given} <= section.code
        assert entry.summary.replace("`", "") in section.text


def test_the_schema_of_events_is_complete() -> None:
    """Every field and kind of an event has a row in docs/events.md, and every field of a body is named there."""
    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, flags=re.MULTILINE))  # of two "ranking", the kind
    kinds = {
        row_kinds.RANKING: events.RankingEvent,
        row_kinds.ITEMS: events.ItemsEvent,
        row_kinds.LEARNER: events.LearnerEvent,
        row_kinds.POOL: pools.PoolEvent,
        row_kinds.STOPPED: events.StoppedEvent,
        row_kinds.IMPORTED: events.ImportedEvent,
        row_kinds.LIST: events.ListEvent,
        row_kinds.ACTIVATED: None,
        row_kinds.REPORT: events.MergedReport,
        row_kinds.LEARN: events.ListOutcome,
        row_kinds.DROP: None,  # as LEARN
        row_kinds.QUARANTINED: events.QuarantinedEvent,
        row_kinds.FORGOTTEN: events.ForgottenEvent,
        row_kinds.ERASED: events.ErasedEvent,
    }
    assert set(rows) == {*Event.__struct_encode_fields__, *kinds}
    for kind, body in kinds.items():
        missing = {name for name in (body.__struct_encode_fields__ if body else ()) if f"`{name}`" not in rows[kind]}
        assert not missing, f"docs/events.md lacks {missing} of {kind}"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"""<(?:script|link|img|iframe|source|object|embed)\b[^>]*?(?:src|href|data)=["']([^"']*)""")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for target in loads.findall(text):
            assert not re.match(r"(?:\w+:)?//", target), f"{page.name} loads {target}"
        assert str(ROOT) not in text, f"{page.name} names a folder of this machine"
    for style in site.rglob("*.css"):
        assert not re.search(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", style.read_text(encoding="utf-8")), style


def test_what_is_generated_is_up_to_date() -> None:
    check = [sys.executable, "docs/generate.py", "--check"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_dependency_is_accounted_for() -> None:
    """Those that we ask for have a line with a reason; those that they bring along are named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [package for several in project["project"]["optional-dependencies"].values() for package in several]
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"], *extras]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", (ROOT / "docs" / "dependencies.md").read_text(), flags=re.MULTILINE)
    reasons = {plain(name) for names, reason in rows if "|" in reason for name in names.split(", ")}
    brought = {plain(name) for _, names in rows if "|" not in names for name in names.split(", ")}
    for package in asked:
        assert plain(package) in reasons, f"docs/dependencies.md does not say why {package}"
    for package in (ROOT / "requirements.lock").read_text().splitlines():
        assert plain(package) in reasons | brought, f"docs/dependencies.md says nothing of {package}"


def test_every_extra_is_on_the_install_page() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page, flags=re.MULTILINE))
    assert {extra: sorted(map(plain, packages)) for extra, packages in extras.items()} == {
        extra: sorted(packages.split(", ")) for extra, packages in rows.items()
    }


def plain(package: str) -> str:
    """The name of a package, as all spellings have it in common."""
    return re.split(r"[=<>\[; ]", package)[0].lower().replace("_", "-")


def test_every_experiment_was_played_for_the_page_of_reproductions() -> None:
    pages = {
        name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("reproduction.md", "newer_claims.md")
    }
    for page in pages.values():
        assert "| quick |" not in page, "some of it was played at a smaller size; run make reproduce"
    for name, experiment in library().items():
        file = "newer_claims.md" if name.startswith("newer/") else "reproduction.md"
        page = pages[file]
        section = page.partition(f"(reproduction-{name.replace('/', '-')})=")[2].partition("\n(reproduction-")[0]
        assert f"`toplist reproduce {name}" in section, f"docs/{file} lacks {name}; run make reproduction-page"
        assert reproduction.markdown_text(experiment.setting) in section
        assert any(str(outcome) in section for outcome in Outcome)
