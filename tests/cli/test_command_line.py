"""The command line as a whole: commands, flags, exit codes and error messages."""

import argparse
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist import cli
from toplist.cli import Exit, main, parser
from toplist.cli.parser import Parser, checkpoint_steps, whole_number
from toplist.support.catalogue import STARTS

Output = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
# As usual: unwritten output waits in a buffer, and Python tries to write it at exit.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def command(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toplist", *words], capture_output=True, text=True, check=False, **options
    )


def every_parser() -> dict[str, Parser]:
    top = parser()
    return {"": top, **top.commands()}


# Commands and flags


def test_every_module_with_a_parser_is_a_command() -> None:
    modules = {info.name for info in pkgutil.iter_modules(cli.__path__)}
    commands = set(parser().commands())
    assert commands >= {"simulate", "policies", "tune", "check", "worlds"}
    assert commands <= modules


@pytest.mark.parametrize("name", every_parser())
def test_every_flag_and_command_has_a_help_text(name: str) -> None:
    for action in every_parser()[name].arguments():
        assert action.help, action
    listed = parser().format_help()
    assert re.search(rf"^    {name}\s+\w", listed, re.MULTILINE) or name == ""


def test_exit_codes_stay_as_scripts_know_them() -> None:
    assert {code.name: code.value for code in Exit} == {
        "FINE": 0, "BROKEN": 1, "INPUT": 2, "SYSTEM": 3, "BUG": 4, "INTERRUPTED": 130, "UNREAD": 141,
    }  # fmt: skip


def test_the_help_names_every_start_and_every_exit_code() -> None:
    text = " ".join(parser().commands()["simulate"].format_help().split()).replace("never- seen", "never-seen")
    for name in STARTS.entries():
        assert name in text
    for code in Exit:
        assert f"{code.value}  {code.meaning}" in parser().format_help()


@pytest.mark.parametrize("words", [["--help"], ["simulate", "--help"], ["tune", "--help"], ["--version"]])
def test_help_does_not_wait_for_the_engine(words: list[str]) -> None:
    program = (
        f"import sys, toplist.cli as cli; code = cli.main({words!r}); heavy = {{'numba', 'numpy'}} & set(sys.modules)"
    )
    program += "; print(heavy, code)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set() 0"
    assert len(done.stdout.splitlines()) > 1  # and it said something
    assert done.stderr == ""


@pytest.mark.parametrize("module", ["toplist", "toplist.cli"])
def test_it_is_a_program(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"toplist {toplist.__version__}\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pkgutil.resolve_name(project["project"]["scripts"]["toplist"]) is main


def test_help_comes_before_anything_else(capsys: Output) -> None:
    assert main(["--help", "nonsense"]) == Exit.FINE
    assert capsys.readouterr().out.startswith("usage: toplist")


# Errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Give a command: advise, check, compare, demo, evaluate, fit, keys, leaderboard, log, policies, proof"),
        (["simulat"], "There is no command 'simulat', but .*; perhaps you mean 'simulate'; see toplist --help"),
        (["--vers"], "There is no flag --vers; perhaps you mean '--version'; see toplist --help"),
        (["simulate", "--stepz", "5"], "no flag --stepz; perhaps you mean '--steps'; see toplist simulate --help"),
        (["simulate", "--step=5"], "There is no flag --step; perhaps you mean '--steps'"),
        (["simulate", "--item", "5"], "no flag --item, but there are .*--world, .*; write parameters in brackets"),
        (["simulate", "--set", "foo=1"], "There is no flag --set, but there are .*--seed, .*; write parameters in"),
        (["compare", "--item", "5"], "no flag --item, but there are .*--worlds, .* as in --worlds 'b-lb"),
        (["worlds", "fixd"], "There is no 'fixd' among worlds, click models and starts; perhaps you mean 'fixed'"),
        (["serve", "mine"], "'mine' was given, but toplist serve takes no names; leave it out; see toplist serve"),
        (["simulate", "best", "--world", '{"type": "fixed"}'], "'{\"type.*}', but .*; write it like 'fixed.attrac"),
        (["serve", "--set", "foo=1"], "Unknown setting foo in a flag; the nearest are port, host and store; "),
        (["check", "json:loads"], r"json:loads is a function, but must be a part .*; name one, .* json:loads\(s=.*"),
        (["check", "os:sep"], "os:sep is '/', but must be a part of toplist .* or make one; name one, as mine.py"),
        (["simulate", "os:sep"], "os:sep is '/', but must be a policy or make one; name one, as mine.py:Mine"),
        (["simulate", "best", "--steps", "5", "random"], "'random' is unexpected here"),
        (["simulate", "--steps", "many"], "argument --steps: 'many' is not a whole number"),
        (["simulate", "--steps", "1e30"], "1e30 is too large; give a number below"),
        (["simulate", "--steps", "0"], "The number of steps is 0, but must be a whole number of at least 1"),
        (["simulate", "--steps"], "argument --steps: expected one argument"),
        (["simulate", "cascade-ucb"], "There is no policy 'cascade-ucb', but .*; perhaps you mean 'cascade-ucb1'"),
        (["simulate", "cascade-ucb1(scal=2)"], "cascade-ucb1 has no parameter 'scal', but .* perhaps you mean 'scale'"),
        (["simulate", "best", "best"], "The policy 'best' is named twice"),
        (["simulate", "best", "--world", "b-lbb"], "There is no world 'b-lbb', but .*; perhaps you mean 'b-lb'"),
        (["simulate", "best", "--world", "fixed(attraction=[2], positions=1)"], r"Fixed's attraction\[0\] is 2.0"),
        (["simulate", "best", "--users", "dmc"], "There is no click model 'dmc', but .*; perhaps you mean 'dcm'"),
        (["simulate", "best", "--start", "force"], "There is no start 'force', but .*; perhaps you mean 'forced'"),
        (["simulate", "best", "--plot", "regret.txt"], r"The plot is 'regret\.txt', but must be a file that ends in"),
        (["simulate", "best", "--json", "-", "--csv", "-"], "--json and --csv both name '-'"),
        (["simulate", "best", "--json", "a", "--csv", "./a"], r"--json and --csv both name '\./a'"),
        (["simulate", "best", "--resume", "kept.txt"], r"The file to resume from is 'kept\.txt'"),
        (["policies", "cascade-ucb1(scale=-1)"], "UCB1's scale is -1"),
        (["policies", "random(a=1)"], "random has no parameters; leave 'a' out"),
        (["policies", "cascade"], "There is no policy 'cascade', but .*; perhaps you mean '(cascade-|.*-cascade)"),
        (["tune"], "the following arguments are required: POLICY; see toplist tune --help"),
        (["tune", "cascade-ucb1"], "There is nothing to tune; cascade-ucb1 has scale, order: write --grid"),
        (["tune", "cascade-ucb1", "--grid", "scale"], "--grid is 'scale', but must be a name and its values"),
        (["tune", "cascade-ucb1", "--grid", "scale=1", "--random", "scale=1..2"], "'scale' is given twice"),
        (["tune", "cascade-ucb1", "--random", "scale=1"], "--random is 'scale=1', but must be a name and a range"),
        (["check", "missing:Mine"], "There is no module 'missing'"),
        (["check", "missing.py:Mine"], r"There is no file 'missing\.py'"),
        (["check", "best", "--only", "sames_seed"], "There is no promise 'sames_seed', .* perhaps you mean 'same_seed"),
    ],
)  # fmt: skip
def test_wrong_input_is_reported_in_one_line(words: list[str], message: str, capsys: Output) -> None:
    assert main(words) == Exit.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"toplist: .*{message}.*\n", err), err


@pytest.mark.parametrize("words", [["check"], ["vacuum"], ["backup", "copy.db"], ["export", "events.ndjson"]])
def test_a_store_of_another_kind_is_refused_by_name(
    words: list[str], capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("print('no database')\n")
    assert main(["store", *words, "--store", "mine.py"]) == Exit.SYSTEM
    assert capsys.readouterr().err == (
        "toplist: The store is 'mine.py', but must be a file that toplist serve wrote, which is an SQLite database; "
        "name the store with --store, or restore a backup of it.\n"
    )
    Path("empty.db").touch()
    assert main(["store", "check", "--store", "empty.db"]) == Exit.SYSTEM
    assert "The store cannot be read: it is empty; name a file that toplist serve wrote, or" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--plot", "--json", "--csv"])
def test_a_missing_folder_is_reported_before_the_first_step(
    flag: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toplist.engine.simulate.simulate", lambda *_, **__: pytest.fail("it was simulated"))
    assert main(["simulate", "best", flag, "/missing/a.png"]) == Exit.SYSTEM
    assert re.fullmatch(r"toplist: The .* must be in a folder that exists; create .*\n", capsys.readouterr().err)


def test_a_missing_extra_is_reported_with_its_installation(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["simulate", "best", "--plot", "a.png"]) == Exit.SYSTEM
    assert capsys.readouterr().err.endswith('install it with: pip install "toplist[plots]"\n')


def test_an_unexpected_error_is_one_line_and_with_traceback_more(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("\nsomewhere deep\nand more")

    monkeypatch.setattr("toplist.engine.simulate.simulate", broken)
    assert main(["simulate", "best"]) == Exit.BUG
    err = capsys.readouterr().err
    assert err.startswith("toplist: ZeroDivisionError: somewhere deep; this should not happen; run it again with")
    assert err.count("\n") == 1
    for words in (["--traceback", "simulate", "best"], ["simulate", "best", "--traceback"]):
        assert main(words) == Exit.BUG
        assert "in broken" in capsys.readouterr().err
    monkeypatch.setattr("toplist.engine.simulate.simulate", lambda *_, **__: [].pop(5.0))  # type: ignore[arg-type]
    assert main(["simulate", "best"]) == Exit.BUG


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "out of memory; ask for less"),
        (OSError(28, "No space left on device", "a.csv"), "No space left on device: a.csv"),
    ],
)
def test_what_the_system_refuses(
    error: Exception, message: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("toplist.engine.simulate.simulate", refused)
    assert main(["simulate", "best"]) == Exit.SYSTEM
    assert capsys.readouterr().err == f"toplist: {message}\n"


def test_an_interruption_says_what_was_kept(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("toplist.engine.simulate.simulate", interrupted)
    assert main(["simulate", "best"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err.startswith("toplist: interrupted, and nothing was kept; with --resume the")
    file = tmp_path / "kept.npz"
    assert main(["simulate", "best", "--resume", str(file)]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == f"toplist: interrupted before there was anything to keep in {file}.\n"
    file.touch()
    assert main(["simulate", "best", "--resume", str(file)]) == Exit.INTERRUPTED
    assert f"the work so far is kept in {file}, and the same command goes on" in capsys.readouterr().err
    monkeypatch.setattr("toplist.support.catalogue.Catalogue.entries", interrupted)
    assert main(["policies"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "toplist: interrupted.\n"


def test_warnings_are_one_line(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["simulate", "best", "--steps", "10", "--quiet", "--resume", str(tmp_path / "a.npz")]) == Exit.FINE
    err = capsys.readouterr().err
    assert re.fullmatch(r"toplist: warning: The resume file could not be written.*No space left on device\n", err)


def test_a_reader_who_goes_away_is_no_error() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "toplist", "policies"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=BUFFERED,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait() == Exit.UNREAD


def test_a_full_disk_behind_stdout_is_reported_once() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toplist", "policies"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=BUFFERED,
        )  # fmt: skip
    assert done.stderr == "toplist: No space left on device\n"
    assert done.returncode == Exit.SYSTEM


def test_closed_streams_are_no_error() -> None:
    done = subprocess.run(f"{sys.executable} -m toplist policies >&- 2>&-", shell=True, check=False)
    assert done.returncode == Exit.FINE


def test_errors_of_a_real_process_have_no_traceback() -> None:
    done = command("simulate", "cascade-ucb1(scale=-1)")
    assert done.returncode == Exit.INPUT
    assert re.fullmatch(r"toplist: UCB1's scale is -1, but must be .*\n", done.stderr)
    assert done.stdout == ""


# Numbers


@pytest.mark.parametrize(("text", "value"), [("20", 20), ("1e5", 100_000), ("100_000", 100_000), ("-3", -3)])
def test_whole_numbers(text: str, value: int) -> None:
    assert whole_number(text) == value
    assert type(whole_number(text)) is int


@pytest.mark.parametrize("text", ["1.5", "x", "", "inf", "nan", "1e300", "9223372036854775808"])
def test_what_is_not_a_whole_number(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        whole_number(text)


def test_checkpoints() -> None:
    assert checkpoint_steps("7") == 7
    assert checkpoint_steps("7,9") == [7, 9]
    assert checkpoint_steps("1e2,10") == [100, 10]
