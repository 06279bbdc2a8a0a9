"""Settings: where they come from, which wins, and what is said about those that there are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toplist.core.problem import InvalidInput
from toplist.service.config import Limits, Settings, is_loopback, read, settings
from toplist.service.http.auth import hashed

ROOT = Path(__file__).parent.parent.parent
HASH = hashed("x")
KEY = f'[[keys]]\nname = "page"\nscope = "serve"\nsha256 = "{HASH}"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "toplist.toml"
    path.write_text(text)
    return path


def test_nothing_at_all_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = read(environment={})
    assert made == Settings()
    assert (made.store, made.host, made.port) == ("toplist.db", "127.0.0.1", 8600)


def test_the_file_of_the_current_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, f'port = 1\nhosts = ["a"]\n[limits]\nrate = 5\nburst = 7\n{KEY}')
    made = read(environment={})
    assert (made.port, made.hosts, made.limits) == (1, ["a"], Limits(rate=5.0, burst=7))
    assert made.keys[0].name == "page"


def test_the_environment_goes_over_the_file_and_flags_over_both(tmp_path: Path) -> None:
    path = written(tmp_path, 'port = 1\nstore = "file.db"\n[limits]\nrate = 1\n')
    environment = {"TOPLIST_PORT": "2", "TOPLIST_LIMITS_RATE": "2.5", "TOPLIST_HOSTS": "a, b", "HOME": "/"}
    made = read(path, environment, {"port": "3", "logs.requests": "none"})
    assert (made.port, made.store, made.limits.rate, made.hosts) == (3, "file.db", 2.5, ["a", "b"])
    assert (made.limits.burst, made.logs.requests) == (100, "none")
    assert read(environment={"TOPLIST_CONFIG": str(path)}).store == "file.db"


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_variable_is_none(empty: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"port = 1\n{KEY}")
    made = read(path, {setting.variable: empty for setting in settings()} | {"TOPLIST_CONFIG": ""})
    assert made == read(path, {})
    assert (made.port, made.keys[0].name) == (1, "page")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "There is no setting 'prot', as .* has it; perhaps you mean 'port'."),
        ("[limits]\nrates = 1", r"There is no setting 'limits.rates', as .* has it; perhaps you mean 'rate'."),
        ("rate = 9", "There is no setting 'rate', as .* has it; perhaps you mean 'limits.rate'."),
        ("burst = 1", "There is no setting 'burst', as .* has it; perhaps you mean 'limits.burst'."),
        ("xyzzy = 1", "There is no setting 'xyzzy', as .* has it; leave it out."),
        ("[limit]\nrate = 1", "There is no setting 'limit', .*; perhaps you mean 'limits'."),
        ("limits = 1", r"limits in .* is 1, but must be a table; write \[limits\] above its settings."),
        ('port = "8600"', "port in .* is '8600', but must be int; the port to listen on; .*"),
        ("port = 70000", "port in .* is 70000, but must be int <= 65535; .*"),
        ("port = ", "The file of settings is .*, but must be TOML; correct it: .*"),
        ('[logs]\nrequests = "some"', "logs.requests in .* is 'some', but must be .*"),
        ("[[keys]]\nname = 'a'", "The keys of .* cannot be used: Object missing required field scope .*"),
        (KEY + 'scop = "serve"', "There is no setting 'scop' of a key, as .* has it; perhaps you mean 'scope'."),
        (KEY + "xyzzy = 1", "There is no setting 'xyzzy' of a key, as .* has it; leave it out."),
        ("keys = 1", "The keys of .* cannot be used: Expected array, got int; .*"),
        ("keys = [1]", "The keys of .* cannot be used: Expected object, got int .*"),
        (KEY + KEY, "Two keys of .* have the name 'page'; give each its own."),
        (KEY + KEY.replace("page", "other"), "Two keys of .* have the sha256 .*"),
        (KEY.replace("serve", "root"), "The keys of .* cannot be used: Invalid enum value 'root' .*"),
        ('proxies = ["::1", "lb"]', "One of the proxies is 'lb', but must be an IP address, a network .*"),
        ('host = "0.0.0.0"', "The host is '0.0.0.0', where others can call, but no keys are configured; .*"),
    ],
)
def test_a_file_that_is_wrong_hears_what_is_right(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        read(written(tmp_path, text), {})


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be a file that exists"):
        read(tmp_path / "nothing.toml", {})
    with pytest.raises(InvalidInput, match="must be a file that can be read"):
        read(tmp_path, {})


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TOPLIST_PROT", "1", "There is no setting TOPLIST_PROT, .*; perhaps you mean 'TOPLIST_PORT'."),
        ("TOPLIST_PORT", "many", "TOPLIST_PORT is 'many', but must be int; .*"),
        ("TOPLIST_KEYS", "secret", "Key 1 of TOPLIST_KEYS must have three parts with colons between, .*"),
        ("TOPLIST_KEYS", f"page:serve:{HASH},", "Key 2 of TOPLIST_KEYS must have three parts .*"),
        ("TOPLIST_KEYS", f"page:serve:{HASH}:x", "Key 1 of TOPLIST_KEYS must have three parts .*"),
        ("TOPLIST_KEYS", f"pa ge:serve:{HASH}", "Key 1 of TOPLIST_KEYS must have a name that is 1 to 50 letters, .*"),
        ("TOPLIST_KEYS", f"page:secret:{HASH}", "Key 1 of TOPLIST_KEYS must have a scope that is serve or admin; .*"),
        ("TOPLIST_KEYS", "page:serve:secret", "Key 1 of TOPLIST_KEYS must have a sha256 that is 64 digits .*"),
        ("TOPLIST_KEYS", f"page:serve:{HASH.upper()}", "Key 1 of TOPLIST_KEYS must have a sha256 that is 64 .*"),
        ("TOPLIST_KEYS", f"a:serve:{HASH},a:admin:{hashed('y')}", "Two keys of TOPLIST_KEYS have the name 'a'; .*"),
        ("TOPLIST_KEYS", f"a:serve:{HASH},b:admin:{HASH}", "Two keys of TOPLIST_KEYS have the sha256 .*"),
    ],
)
def test_a_variable_that_is_wrong(variable: str, value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$") as refused:
        read(environment={variable: value})
    assert "secret" not in str(refused.value)


def test_a_flag_that_is_wrong() -> None:
    with pytest.raises(
        InvalidInput, match=r"There is no setting limits.rates, as a flag has it; perhaps .*'limits.rate'"
    ):
        read(environment={}, flags={"limits.rates": "1"})


def test_others_can_call_only_with_keys(tmp_path: Path) -> None:
    assert read(written(tmp_path, f'host = "0.0.0.0"\n{KEY}'), {}).host == "0.0.0.0"
    assert is_loopback("127.8.8.8")
    assert not is_loopback("localhost.example")


def test_keys_of_the_environment_go_over_the_file_and_those_of_a_flag_over_both(tmp_path: Path) -> None:
    path = written(tmp_path, f'host = "0.0.0.0"\n{KEY}')
    assert [key.name for key in read(path, {}).keys] == ["page"]
    given = {"TOPLIST_KEYS": f"shop:serve:{HASH}, editor:admin:{hashed('y')}"}
    assert [(key.name, key.scope, key.sha256) for key in read(path, given).keys] == [
        ("shop", "serve", HASH),
        ("editor", "admin", hashed("y")),
    ]
    assert [key.name for key in read(path, given, {"keys": f"flag:admin:{HASH}"}).keys] == ["flag"]
    assert read(environment=given | {"TOPLIST_HOST": "0.0.0.0"}).host == "0.0.0.0"


def test_every_setting_is_documented_as_it_is() -> None:
    text = (ROOT / "docs" / "service.md").read_text()
    rows = re.findall(r"^\| `([a-z_.]+)` \| `(TOPLIST_[A-Z_]+)` \| (.*?) \| (.*?) \|$", text, flags=re.MULTILINE)
    said = {row[0]: row[1:] for row in rows}
    for each in settings():
        default = ", ".join(each.default) or "none" if isinstance(each.default, list) else f"{each.default}"
        assert said.pop(each.name) == (each.variable, default, each.description)
    assert not said
