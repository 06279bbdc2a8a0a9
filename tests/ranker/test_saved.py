"""Rankers saved to files and lists saved as JSON: complete, foreign, damaged and of newer formats."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import zipfile
from copy import copy as shallow_copy
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pytest
from ranker_cases import ONE_OF_A_KIND, features_for

import toplist
from toplist import InvalidInput, Ranker
from toplist.core.beliefs import array_bytes
from toplist.core.problem import Problem
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import UCB1, Greedy
from toplist.parts.memory import Everything
from toplist.policies import Policy
from toplist.ranker import AlreadyLearned, ForeignSlate, TooManyOpen
from toplist.support.files import read_arrays, write_arrays

ITEMS = ["a", "b", "c", "d", "e"]


def used(policy: Any = "dcm-kl-ucb", lists: int = 30, **more: Any) -> Ranker:
    """A ranker after some use: lists learned, some left open, one item removed and one added."""
    more = features_for(policy, ITEMS) | more
    ranker = Ranker(ITEMS, positions=3, policy=policy, seed=4, compiled=False, **more)
    for number in range(lists):
        shown = ranker.rank()
        if number % 7:
            ranker.learn(shown, clicks=[1 + number % len(shown)])
    if ranker.capabilities.adds_items:
        ranker.remove("c")
        ranker.add("f", **features_for(policy, "f"))
    return ranker


@pytest.mark.parametrize("policy", [*ONE_OF_A_KIND, Policy(EveryPlace(), Everything(0.3, 2.0), UCB1(0.5))])
@pytest.mark.parametrize("again_of", [lambda ranker: pickle.loads(pickle.dumps(ranker)), deepcopy, shallow_copy])
def test_a_pickled_or_copied_ranker_continues_on_its_own(policy: Any, again_of: Any) -> None:
    ranker = used(policy, open_slates=5)
    kept = ranker.rank()
    again = again_of(ranker)
    assert repr(again) == repr(ranker)
    assert (again.options, again.items, again.hidden) == (ranker.options, ranker.items, ranker.hidden)
    before = array_bytes(ranker.belief)
    again.learn(kept, clicks=[2])
    assert array_bytes(ranker.belief) == before  # no array is shared
    ranker.learn(kept, clicks=[2])
    for number in range(20):
        here, there = ranker.rank(), again.rank()
        assert here.items == there.items
        ranker.learn(here, clicks=[1 + number % 3])
        again.learn(there, clicks=[1 + number % 3])
    assert array_bytes(ranker.belief) == array_bytes(again.belief)


@pytest.mark.parametrize("policy", [*ONE_OF_A_KIND, Policy(EveryPlace(), Everything(0.3, 2.0), UCB1(0.5))])
def test_a_loaded_ranker_continues_where_it_was_saved(policy: Any, tmp_path: Path) -> None:
    ranker = used(policy, open_slates=5)
    kept = ranker.rank()
    ranker.save(tmp_path / "ranker.npz")
    again = Ranker.load(tmp_path / "ranker.npz", compiled=False)
    assert repr(again) == repr(ranker)
    assert again.options == ranker.options
    again.learn(again.shown(json.loads(json.dumps(kept.as_dict()))), clicks=[2])
    ranker.learn(kept, clicks=[2])
    for number in range(20):
        here, there = ranker.rank(), again.rank()
        assert here.items == there.items
        ranker.learn(here, clicks=[1 + number % 3])
        again.learn(there, clicks=[1 + number % 3])
    assert array_bytes(ranker.belief) == array_bytes(again.belief)
    assert str(ranker.estimates()) == str(again.estimates())
    with pytest.raises(AlreadyLearned):
        again.learn(kept, clicks=())


@pytest.mark.parametrize("policy", ["dcm-kl-ucb", "dcm-ts"])
def test_a_file_names_its_policy_whatever_the_default_is(policy: str, tmp_path: Path) -> None:
    used(policy).save(tmp_path / "ranker.npz")
    header, _ = read_arrays(tmp_path / "ranker.npz", "The file", "a ranker")
    assert header["title"] == policy
    assert f"with {policy}: " in repr(Ranker.load(tmp_path / "ranker.npz"))


def test_open_and_given_up_lists_and_removed_items_are_saved(tmp_path: Path) -> None:
    ranker = Ranker(ITEMS, positions=2, policy="cascade-ucb1", open_slates=2, compiled=False, new_per_list=1)
    ranker.learn(ranker.rank(), clicks=())
    lost, waiting = ranker.rank(), ranker.rank()
    late = ranker.rank(pins={1: "b"})
    ranker.remove("b")
    ranker.save(tmp_path / "ranker.npz")
    again = Ranker.load(tmp_path / "ranker.npz", compiled=False)
    again.save(tmp_path / "again.npz")
    (header, arrays), (same_header, same_arrays) = (
        read_arrays(tmp_path / name, "", "") for name in ("ranker.npz", "again.npz")
    )
    assert same_header == header
    assert {name: array.tolist() for name, array in same_arrays.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert len(arrays["examined"]) > 0
    assert header["left"] == [[ITEMS.index("b"), 4]]
    again.add("new")
    again.save(tmp_path / "again.npz")
    names = read_arrays(tmp_path / "again.npz", "", "")[0]["names"]
    assert names.index("new") not in late.slate.items  # a slot is not reused while an open list refers to it
    again.learn(late, clicks=["b"])
    again.learn(waiting, clicks=())
    with pytest.raises(TooManyOpen):
        again.learn(lost, clicks=())
    assert "b" not in again
    assert again.estimates()["new"]["examined"] == 0.0


def test_a_list_outlives_the_process(tmp_path: Path) -> None:
    """Made in one process and learned in another, through a file and JSON."""
    ranker = used("ranked-kl-ucb(collision='random')")
    ranker.save(tmp_path / "ranker.npz")
    shown = ranker.rank()
    ranker.save(tmp_path / "ranker.npz")
    (tmp_path / "shown.json").write_text(json.dumps(shown.as_dict()))
    program = (
        "import json, toplist\n"
        "ranker = toplist.Ranker.load('ranker.npz', compiled=False)\n"
        "shown = ranker.shown(json.load(open('shown.json')))\n"
        "ranker.learn(shown, clicks=[1])\n"
        "ranker.save('ranker.npz')\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    ranker.learn(shown, clicks=[1])
    assert array_bytes(Ranker.load(tmp_path / "ranker.npz").belief) == array_bytes(ranker.belief)


def test_json_of_a_list_is_strict_and_survives_other_writers() -> None:
    ranker = used("ranked-kl-ucb")
    ranker.add("g")  # never examined: its score is infinite
    shown = ranker.rank()
    text = json.dumps(shown.as_dict(), allow_nan=False, sort_keys=True, indent=1)
    again = ranker.shown(json.loads(text))
    assert again.items == shown.items
    assert again.slate.memo.tobytes() == shown.slate.memo.tobytes()
    assert again.pinned == shown.pinned
    assert again.as_dict() == shown.as_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"number": 0},
        {"slots": [0, 1, 2]},
        {"items": ["a", "b", "c"]},
        {"memo": "00"},
        {"seal": "00"},
        {"seal": None},
        {"more": object()},
    ],
)
def test_a_changed_list_is_refused(change: dict[str, Any]) -> None:
    ranker = used("ranked-kl-ucb")
    shown = ranker.rank()
    before = array_bytes(ranker.belief)
    with pytest.raises(ForeignSlate, match="does not carry the signature of this ranker"):
        ranker.shown(shown.as_dict() | change)
    assert array_bytes(ranker.belief) == before


def test_a_list_made_after_the_file_was_saved_is_refused_by_its_copy(tmp_path: Path) -> None:
    ranker = used()
    ranker.save(tmp_path / "ranker.npz")
    shown = ranker.rank()
    again = Ranker.load(tmp_path / "ranker.npz")
    with pytest.raises(ForeignSlate, match="List 30 was made by another copy of this ranker"):
        again.learn(shown, clicks=())


def test_copies_refuse_the_lists_of_each_other(tmp_path: Path) -> None:
    """Even if both have a list of that number, or the other has more items than this one has room for."""
    ranker = used()
    before = ranker.rank()
    ranker.save(tmp_path / "ranker.npz")
    ranker.add([f"more {n}" for n in range(1000)])
    lost = ranker.rank()
    here, there = (Ranker.load(tmp_path / "ranker.npz") for _ in range(2))
    lists = {copy: copy.rank() for copy in (here, there)}
    for copy, own in lists.items():
        assert own.number == lost.number
        for other in (lost, lists[here if copy is there else there]):
            with pytest.raises(ForeignSlate, match="made by another copy"):
                copy.learn(other, clicks=[1])
            with pytest.raises(ForeignSlate, match="made by another copy"):
                copy.learn(copy.shown(other.as_dict()), clicks=[1])
        copy.learn(own, clicks=[1])
        copy.learn(before, clicks=[1])  # made before they were copied


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_a_copy_too() -> None:
    ranker = used()
    ranker.rank()
    fork = multiprocessing.get_context("fork")
    made = fork.SimpleQueue()
    child = fork.Process(target=lambda: made.put(json.dumps(ranker.rank().as_dict())))
    child.start()
    theirs = ranker.shown(json.loads(made.get()))
    child.join()
    assert ranker.rank().number == theirs.number
    with pytest.raises(ForeignSlate, match="made by another copy"):
        ranker.learn(theirs, clicks=[1])


# Files ----------------------------------------------------------------------------------------------------------------


def test_files_hold_no_code(tmp_path: Path) -> None:
    used().save(tmp_path / "ranker.npz")
    with np.load(tmp_path / "ranker.npz", allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiub" for name in file.files)
    header, _ = read_arrays(tmp_path / "ranker.npz", "", "")
    assert (header["format"], header["format_version"], header["version"]) == (
        "toplist.Ranker", 1, toplist.__version__,
    )  # fmt: skip


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ranker.npz"
    ranker = used()
    ranker.save(path)
    before = path.read_bytes()
    ranker.learn(ranker.rank(), clicks=[1])

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        ranker.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["ranker.npz"]
    assert Ranker.load(path).learned == ranker.learned - 1


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_file_is_refused(kept: float, tmp_path: Path) -> None:
    path = tmp_path / "ranker.npz"
    used().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept if kept >= 1 or kept == 0 else kept * len(content))])
    with pytest.raises(InvalidInput, match=r"is not a file that Ranker\.save has written, or is damaged"):
        Ranker.load(path)


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    """A damaged file is refused, or its ranker has the same belief."""
    path = tmp_path / "ranker.npz"
    ranker = used(lists=10)
    ranker.save(path)
    content = bytearray(path.read_bytes())
    refused = 0
    for place in range(0, len(content), 37):
        damaged = content.copy()
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        try:
            assert array_bytes(Ranker.load(path, compiled=False).belief) == array_bytes(ranker.belief)
        except InvalidInput:
            refused += 1
    assert refused > 50


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.npz"
    with pytest.raises(InvalidInput, match="must be a file that exists"):
        Ranker.load(path)
    path.write_text("hello")
    with pytest.raises(InvalidInput, match=r"is not a file that Ranker\.save has written"):
        Ranker.load(path)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(InvalidInput, match=r"is not a file that Ranker\.save has written"):
        Ranker.load(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.npy", "nonsense")
    with pytest.raises(InvalidInput, match=r"is not a file that Ranker\.save has written"):
        Ranker.load(path)
    path.unlink()
    toplist.simulate("random", *toplist.worlds.b_lb(6, 2, 0.2, 0.1, 0.5), steps=10, runs=1, resume=path)
    with pytest.raises(InvalidInput, match="holds 'toplist simulation 2', not a ranker"):
        Ranker.load(path)


def changed(path: Path, header: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None) -> Path:
    old_header, old_arrays = read_arrays(path, "", "")
    write_arrays(path, "", old_header | (header or {}), old_arrays | (arrays or {}))
    return path


def test_newer_and_incomplete_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ranker.npz"
    used().save(path)
    with pytest.raises(InvalidInput, match=r"was saved by toplist 9.9 in format 2, .* use the version that saved it"):
        Ranker.load(changed(path, {"format_version": 2, "version": "9.9"}))
    used().save(path)
    with pytest.raises(InvalidInput, match="is damaged"):
        Ranker.load(changed(path, {"options": {"pages": 3}}))
    used().save(path)
    with pytest.raises(InvalidInput, match="does not hold the belief of its policy: examined"):
        Ranker.load(changed(path, arrays={"belief.examined": np.zeros(3)}))
    used().save(path)
    header, _ = read_arrays(path, "", "")
    with pytest.raises(InvalidInput, match="is different or missing in this version of toplist"):
        Ranker.load(changed(path, {"policy": header["policy"] | {"scoring": {"part": "toplist.index.Nonsense"}}}))


@pytest.mark.parametrize(
    "part",
    [
        {"part": "toplist.files.write_text", "path": "PATH", "what": "", "text": "written by load"},
        {"part": "toplist.index.ucb1.Path"},
        {"part": "toplist.index.klucb.kl_upper"},
        {"part": "toplist"},
    ],
)
def test_a_file_can_name_nothing_but_parts(part: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ranker.npz"
    used().save(path)
    named = {key: str(tmp_path / "written") if value == "PATH" else value for key, value in part.items()}
    with pytest.raises(InvalidInput):
        Ranker.load(changed(path, {"policy": named}))
    assert os.listdir(tmp_path) == ["ranker.npz"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"problem": [5, 9, 0, None]},
        {"names": ["a", "a", "b", "c", "d", "e"]},
        {"left": [[99, 0]]},
        {"left": 7},
        {"made": 1},
        {"names": [1, 2]},
    ],
)
def test_a_file_whose_parts_do_not_fit_together_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ranker.npz"
    used().save(path)
    with pytest.raises(InvalidInput):
        Ranker.load(changed(path, wrong))


def test_a_file_is_private_to_its_owner_and_keeps_its_mode(tmp_path: Path) -> None:
    """It holds the secret that signs lists."""
    path = tmp_path / "ranker.npz"
    used().save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    used().save(path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be a file that can be read; see why it cannot"):
        Ranker.load(tmp_path)
    with pytest.raises(InvalidInput, match="must be a path"):
        Ranker.load(5)  # type: ignore[arg-type]


def test_a_prepared_policy_is_saved_too(tmp_path: Path) -> None:
    ranker = used(toplist.make("dcm-kl-ucb(order=[2, 1, 3])").prepare(Problem(5, 3)))
    ranker.save(tmp_path / "ranker.npz")
    assert Ranker.load(tmp_path / "ranker.npz").rank().items == ranker.rank().items


def test_a_list_of_a_newer_format_is_refused() -> None:
    ranker = used()
    with pytest.raises(InvalidInput, match="format_version is 2, but must be 1"):
        ranker.shown(ranker.rank().as_dict() | {"format_version": 2})


class MyMemory(NamedTuple):
    """A memory that does not come with toplist."""

    shared: Everything = Everything()

    def prepare(self, problem: Problem) -> Self:
        return self._replace(shared=self.shared.prepare(problem))

    def begin(self, problem: Problem) -> Any:
        return self.shared.begin(problem)

    def keeps(self) -> str:
        return "counts"

    def tick(self, belief: Any) -> None:
        self.shared.tick(belief)

    def add(self, belief: Any, item: int, weight: float, value: float, slate: Any, place: int) -> None:
        self.shared.add(belief, item, weight, value, slate, place)

    def conclude(self, belief: Any) -> None:
        self.shared.conclude(belief)


def test_custom_parts_must_be_given_again_since_files_import_nothing(tmp_path: Path) -> None:
    mine = Policy(EveryPlace(), MyMemory(), Greedy())
    ranker = used(mine)
    ranker.save(tmp_path / "ranker.npz")
    with pytest.raises(
        InvalidInput, match=r"MyMemory does not belong to toplist; .* Ranker\.load\(path, policy=\.\.\.\)"
    ):
        Ranker.load(tmp_path / "ranker.npz")
    again = Ranker.load(tmp_path / "ranker.npz", policy=mine, compiled=False)
    assert array_bytes(again.belief) == array_bytes(ranker.belief)
    with pytest.raises(InvalidInput, match="was saved with another policy than the given"):
        Ranker.load(tmp_path / "ranker.npz", policy="cascade-ucb1")


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"The ranker's file is .* but must be in a folder that exists"):
        used().save(tmp_path / "nowhere" / "ranker.npz")
