"""Settings: their sources, their precedence, and errors about unknown ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from toplist.core.problem import InvalidInput
from toplist.service.api_keys import settings_lines, settings_text
from toplist.service.http.auth import hash_api_key
from toplist.service.read_settings import is_loopback, read_settings
from toplist.service.settings import Limits, Settings, setting_fields

ROOT = Path(__file__).parent.parent.parent
HASH, OTHER = hash_api_key("x"), hash_api_key("y")
KEY = f'[[keys]]\nname = "page"\nscope = "serve"\nsha256 = "{HASH}"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "toplist.toml"
    path.write_text(text)
    return path


def test_every_setting_has_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = read_settings(environment={})
    assert made == Settings()
    assert (made.store, made.host, made.port) == ("toplist.db", "127.0.0.1", 8600)


def test_the_file_in_the_current_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, f'port = 1\nhosts = ["a"]\n[limits]\nrate = 5\nburst = 7\n{KEY}')
    made = read_settings(environment={})
    assert (made.port, made.hosts, made.limits) == (1, ["a"], Limits(rate=5.0, burst=7))
    assert made.keys[0].name == "page"


def test_the_environment_overrides_the_file_and_flags_override_both(tmp_path: Path) -> None:
    path = written(tmp_path, 'port = 1\nstore = "file.db"\n[limits]\nrate = 1\n')
    environment = {"TOPLIST_PORT": "2", "TOPLIST_LIMITS_RATE": "2.5", "TOPLIST_HOSTS": "a, b", "HOME": "/"}
    made = read_settings(path, environment, {"port": "3", "logs.requests": "none"})
    assert (made.port, made.store, made.limits.rate, made.hosts) == (3, "file.db", 2.5, ["a", "b"])
    assert (made.limits.burst, made.logs.requests) == (6000, "none")
    assert read_settings(environment={"TOPLIST_CONFIG": str(path)}).store == "file.db"


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_variable_is_ignored(empty: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"port = 1\n{KEY}")
    made = read_settings(path, {setting.variable: empty for setting in setting_fields()} | {"TOPLIST_CONFIG": ""})
    assert made == read_settings(path, {})
    assert (made.port, made.keys[0].name) == (1, "page")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "Unknown setting 'prot' in .*; perhaps you mean 'port'."),
        ("[limits]\nrates = 1", r"Unknown setting 'limits.rates' in .*; perhaps you mean 'rate'."),
        ("rate = 9", "Unknown setting 'rate' in .*; perhaps you mean 'limits.rate'."),
        ("burst = 1", "Unknown setting 'burst' in .*; perhaps you mean 'limits.burst'."),
        ("xyzzy = 1", "Unknown setting 'xyzzy' in .*; leave it out."),
        ("[limit]\nrate = 1", "Unknown setting 'limit' in .*; perhaps you mean 'limits'."),
        ("limits = 1", r"limits in .* is 1, but must be a table; write \[limits\] above its settings."),
        ('port = "8600"', "port in .* is '8600', but must be int; port to listen on; .*"),
        ("port = 70000", "port in .* is 70000, but must be int <= 65535; .*"),
        ("port = ", "The settings file is .*, but must be TOML; correct it: .*"),
        ('[logs]\nrequests = "some"', "logs.requests in .* is 'some', but must be .*"),
        ("[[keys]]\nname = 'a'", "Key 1 of .* cannot be used: Object missing required field scope; .*"),
        (KEY + 'scop = "serve"', "Unknown setting 'scop' of a key in .*; perhaps you mean 'scope'."),
        (KEY + "xyzzy = 1", "Unknown setting 'xyzzy' of a key in .*; leave it out."),
        ("keys = 1", r"The keys of .* must be tables, \[\[keys\]\]; .*"),
        ("keys = [1]", "Key 1 of .* cannot be used: Expected object, got int; .*"),
        (KEY + KEY, "Two keys of .* have the sha256 .*; give each its own."),
        (KEY + KEY.replace("page", "other"), "Two keys of .* have the sha256 .*"),
        (KEY + KEY.replace(HASH, OTHER).replace("serve", "admin"), "Two keys of .* have the name 'page', but not .*"),
        (KEY + KEY.replace(HASH, OTHER) + 'rankings = ["a"]', "Two keys of .* have the name 'page', but not .*"),
        (KEY + KEY.replace(HASH, OTHER) + KEY.replace(HASH, "0" * 64), "3 keys of .* have the name 'page', but two .*"),
        (KEY.replace("serve", "root"), "Key 1 of .* must have a scope that is list, report, read, .*"),
        (KEY.replace("serve", "list+"), "Key 1 of .* must have a scope that is list, report, read, .*"),
        (KEY + "rankings = []", "Key 1 of .* must have a value of rankings that is one or more names of rankings; .*"),
        (KEY + 'rankings = ["a", "b/c"]', "Key 1 of .* must have a value of rankings that is one or more names .*"),
        (KEY + "expires = 2027-01-31T12:00:00", "Key 1 of .* must have a value of expires that is .* its offset, .*"),
        (KEY + "expires = 2027-01-31", "Key 1 of .* must have a value of expires that is a date and time .*"),
        (KEY + 'expires = "soon"', "Key 1 of .* must have a value of expires that is a date and time .*"),
        ('proxies = ["::1", "lb"]', "One of the proxies is 'lb', but must be an IP address, a network .*"),
        ('proxies = ["10.0.0.1/8"]', "One of the proxies is '10.0.0.1/8', but must be .*has host bits set.*"),
        ('proxies = ["10.0.0.0/8", "*"]', "The setting proxies is .*, but must be .* alone, or addresses; leave .*"),
        ('proxies = ["::1"]', "There are proxies, ::1, but no keys: everybody could use the service through them; .*"),
        ('tls = {certificate = "a.pem"}', "There is tls.certificate, but no tls.key; name both files, or neither .*"),
        ('tls = {key = "a.pem"}', "There is tls.key, but no tls.certificate; name both files, or neither .*"),
        ('health = {host = "0.0.0.0", port = 1}', "The host is '0.0.0.0', which other machines can reach, .*"),
        ('host = "0.0.0.0"', "The host is '0.0.0.0', which other machines can reach, but no keys are configured; .*"),
    ],
)
def test_an_invalid_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        read_settings(written(tmp_path, text), {})


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be a file that exists"):
        read_settings(tmp_path / "nothing.toml", {})
    with pytest.raises(InvalidInput, match="must be a readable file"):
        read_settings(tmp_path, {})


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TOPLIST_PROT", "1", "Unknown setting TOPLIST_PROT in the environment; perhaps you mean 'TOPLIST_PORT'."),
        ("TOPLIST_PORT", "many", "TOPLIST_PORT is 'many', but must be int; .*"),
        ("TOPLIST_KEYS", "secret", "Key 1 of TOPLIST_KEYS must have three parts separated by colons, .*"),
        ("TOPLIST_KEYS", f"page:serve:{HASH},", "Key 2 of TOPLIST_KEYS must have three parts .*"),
        ("TOPLIST_KEYS", f"page:serve:{HASH}:x", "Key 1 of TOPLIST_KEYS must have three parts .*"),
        ("TOPLIST_KEYS", f"pa ge:serve:{HASH}", "Key 1 of TOPLIST_KEYS must have a name that is 1 to 50 letters, .*"),
        ("TOPLIST_KEYS", f"page:secret:{HASH}", "Key 1 of TOPLIST_KEYS must have a scope that is list, report, .*"),
        ("TOPLIST_KEYS", "page:serve:secret", "Key 1 of TOPLIST_KEYS must have a sha256 that is 64 digits .*"),
        ("TOPLIST_KEYS", f"page:serve:{HASH.upper()}", "Key 1 of TOPLIST_KEYS must have a sha256 that is 64 .*"),
        (
            "TOPLIST_KEYS",
            f"a:serve:{HASH},a:admin:{hash_api_key('y')}",
            "Two keys of TOPLIST_KEYS have the name 'a', but not the same scope .*",
        ),
        ("TOPLIST_KEYS", f"a:read:{HASH}:expires=secret", "Key 1 of TOPLIST_KEYS must have a value of expires .*"),
        ("TOPLIST_KEYS", f"a:read:{HASH}:rankings=", "Key 1 of TOPLIST_KEYS must have a value of rankings .*"),
        ("TOPLIST_KEYS", f"a:read:{HASH}:rankings=a:rankings=b", "Key 1 of TOPLIST_KEYS must have three parts .*"),
        ("TOPLIST_KEYS", f"a:serve:{HASH},b:admin:{HASH}", "Two keys of TOPLIST_KEYS have the sha256 .*"),
    ],
)
def test_an_invalid_variable(variable: str, value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$") as refused:
        read_settings(environment={variable: value})
    assert "secret" not in str(refused.value)


def test_an_unknown_flag() -> None:
    with pytest.raises(InvalidInput, match=r"Unknown setting limits.rates in a flag; perhaps .*'limits.rate'"):
        read_settings(environment={}, flags={"limits.rates": "1"})


def test_other_machines_need_api_keys(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, f'host = "0.0.0.0"\n{KEY}'), {}).host == "0.0.0.0"
    assert is_loopback("127.8.8.8")
    assert not is_loopback("localhost.example")


def test_api_keys_of_the_environment_override_the_file_and_those_of_a_flag_both(tmp_path: Path) -> None:
    path = written(tmp_path, f'host = "0.0.0.0"\n{KEY}')
    assert [key.name for key in read_settings(path, {}).keys] == ["page"]
    given = {"TOPLIST_KEYS": f"shop:serve:{HASH}, editor:admin:{hash_api_key('y')}"}
    assert [(key.name, key.scope, key.sha256) for key in read_settings(path, given).keys] == [
        ("shop", "serve", HASH),
        ("editor", "admin", hash_api_key("y")),
    ]
    assert [key.name for key in read_settings(path, given, {"keys": f"flag:admin:{HASH}"}).keys] == ["flag"]
    assert read_settings(environment=given | {"TOPLIST_HOST": "0.0.0.0"}).host == "0.0.0.0"


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("list", {"list"}),
        ("report", {"report"}),
        ("list+report", {"list", "report"}),
        ("serve", {"list", "report", "read"}),
        ("admin", {"list", "report", "read", "admin"}),
        ("read+admin", {"list", "report", "read", "admin"}),
    ],
)
def test_scopes_are_the_same_in_the_file_and_in_the_environment(text: str, scopes: set[str], tmp_path: Path) -> None:
    file = read_settings(written(tmp_path, KEY.replace("serve", text)), {})
    environment = read_settings(environment={"TOPLIST_KEYS": f"page:{text}:{HASH}"})
    assert file.keys == environment.keys
    assert file.keys[0].scopes == scopes


def test_a_key_may_expire_and_be_for_certain_rankings(tmp_path: Path) -> None:
    text = f'{KEY}rankings = ["a", "b.c"]\nexpires = 2027-01-31T12:30:00+01:00\n{KEY.replace("page", "x")}'
    (key, _) = read_settings(written(tmp_path, text.replace(HASH, OTHER, 1)), {}).keys
    assert (key.rankings, key.expires) == (["a", "b.c"], datetime(2027, 1, 31, 11, 30, tzinfo=UTC))
    assert read_settings(environment={"TOPLIST_KEYS": settings_text(key)}).keys == [key]
    assert read_settings(written(tmp_path, settings_lines(key)), {}).keys == [key]
    assert settings_text(key).endswith(":expires=2027-01-31T12:30:00+01:00:rankings=a+b.c")


def test_a_name_may_have_two_keys_to_replace_one_by_the_other(tmp_path: Path) -> None:
    keys = read_settings(written(tmp_path, KEY + KEY.replace(HASH, OTHER) + "expires = 2027-01-31T12:30:00Z"), {}).keys
    assert [(key.name, key.sha256) for key in keys] == [("page", HASH), ("page", OTHER)]


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "service.md").read_text()
    rows = re.findall(r"^\| `([a-z_.]+)` \| `(TOPLIST_[A-Z_]+)` \| (.*?) \| (.*?) \|$", text, flags=re.MULTILINE)
    documented = {row[0]: row[1:] for row in rows}
    for each in setting_fields():
        default = ", ".join(each.default) if isinstance(each.default, list) else f"{each.default}"
        default = "none" if each.default is None else default or "none"
        assert documented.pop(each.name) == (each.variable, default, each.description)
    assert not documented


@pytest.mark.parametrize("given", ["short", 'segment_secret = "short"', "segment_secret = 12345"])
def test_a_secret_is_long_and_never_quoted(given: str, tmp_path: Path) -> None:
    path = tmp_path / "toplist.toml"
    path.write_text(given if "=" in given else "")
    environment = {} if "=" in given else {"TOPLIST_SEGMENT_SECRET": given}
    with pytest.raises(InvalidInput, match="segment_secret") as refused:
        read_settings(path, environment)
    assert not {"short", "12345"} & set(re.findall(r"\w+", str(refused.value)))
