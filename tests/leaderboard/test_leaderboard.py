"""The leaderboard: its suite, who plays, files and the page."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_board import NAMES, SMALL, played

import toplist
from toplist import cli
from toplist.datasets import click_models, generated
from toplist.leaderboard import (
    Contender,
    field_of,
    play,
    play_suite,
    read_suite,
    read_tuned,
    summary,
)  # fmt: skip
from toplist.leaderboard.board import EVERY, FEATURES
from toplist.leaderboard.learned import KINDS, learned_problems
from toplist.leaderboard.tuning import choices
from toplist.policies import catalogue, make
from toplist.support.catalogue import part_text
from toplist.support.machine import code_commit, processor_name

DIGESTS = {2: "4c0fd7e22007dcd2"}  # of each version of the suite of which a board was published
JUMPING = "jumping(attraction=[0.8, 0.3, 0.1, 0.1], positions=2, raised=1)"
PASSING = "coming-and-going(attraction=[0.8, 0.3, 0.1, 0.1], positions=2)"


def test_the_suite_can_be_played() -> None:
    """Every problem, also those to tune on, is made; names, kinds and facts of a problem fit its world."""
    suite = read_suite()
    assert len(suite.problems) >= 24
    for problem in (*suite.problems, *suite.tuning):
        made = problem.made()
        world = made.world.checked()
        assert (world.problem(100).features > 0) == problem.features, problem.name
        assert hasattr(world, "how") == problem.changes, problem.name
        assert made.users.prepare(world.problem(100)) is not None
    assert {problem.kind for problem in suite.tuning} == {problem.kind for problem in suite.problems}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda suite: suite.pop("version"), "version"),
        (lambda suite: suite["problems"][0].update(size=3), "size"),
        (lambda suite: suite["problems"][0].update(name="two"), "twice"),
        (lambda suite: suite["tuning"].pop(), "to tune on"),
        (lambda suite: suite["problems"][0].update(since=6), "first version is 7"),
        (lambda suite: suite.update(digests=["0123"]), "version"),
        (lambda suite: suite["problems"][0].update(world=JUMPING), "'one' has changes"),
        (lambda suite: suite["problems"][2].pop("features"), "'three' has features"),
        (lambda suite: suite["problems"][0].update(features=True), "its world has none"),
    ],
)
def test_a_suite_that_cannot_be_is_refused(change: Any, message: str) -> None:
    suite = json.loads(SMALL)
    change(suite)
    with pytest.raises(toplist.InvalidInput, match=message):
        read_suite(json.dumps(suite))


def test_items_that_come_and_go_are_no_change_of_preferences() -> None:
    suite = json.loads(SMALL)
    suite["problems"][0]["world"] = PASSING
    assert not read_suite(json.dumps(suite)).problems[0].changes
    suite["problems"][0].update(world=JUMPING, changes=True)
    assert read_suite(json.dumps(suite)).problems[0].changes


def test_the_whole_catalogue_plays() -> None:
    """But not what needs a simulator, what plays another policy, and a second name of the same parts."""
    labels = {contender.label for contender in field_of({}, {}, [])}
    assert {"random", "cascade-ts", "grab", "c3-ucb", "glrt-cascade-ucb"} <= labels
    assert labels <= set(catalogue()) - {"best", "exploring"}
    tuned = {"a": {"cascade-ucb1": "cascade-ucb1(scale=0.2)", "dcm-ts": "dcm-ts"}}
    found = {contender.label: contender for contender in field_of(tuned, {"ours": make("dcm-ts")}, [])}
    assert found["ours"].own
    assert "dcm-ts, tuned" not in found  # nothing was better than the published parameters
    one, three = read_suite(SMALL).problems[0], read_suite(SMALL).problems[2]
    assert found["cascade-ucb1, tuned"].policy(one).scoring.scale == 0.2
    assert found["cascade-ucb1, tuned"].policy(three).scoring.scale == 1.5


def test_features_that_change_are_not_for_a_policy_that_designs_experiments() -> None:
    suite = {problem.name: problem for problem in read_suite().problems}
    contender = Contender("recur-rank", {"": make("recur-rank")})
    able = {name for name, problem in suite.items() if contender.plays(problem)}
    assert {"contextual-50-fixed", "topics-12", "topics-12-dcm"} <= able
    assert able.isdisjoint({"contextual-20", "contextual-20-dcm", "cascade-16"})
    assert Contender("c3-ucb", {"": make("c3-ucb")}).plays(suite["contextual-20"])


def test_normalised_regret_is_that_of_simulate() -> None:
    board = played()
    problem = read_suite(SMALL).problems[1]
    result = toplist.simulate(["cascade-ucb1", "random"], problem.world, problem.users, 60, 3, 0, checkpoints=[20])
    assert board.horizons.tolist() == [20, 60]
    for at in (0, 1):
        wanted = result.regret["cascade-ucb1"][:, at] / result.regret["random"][:, at].mean()
        assert board.normalised("two", "cascade-ucb1", at) == pytest.approx(wanted)
    assert set(board.cells["one"]) == {"cascade-ucb1", "cascade-kl-ucb", "random"}
    assert [each.label for each in board.overall(FEATURES)] == [each.label for each in board.on_problem("three")]
    assert {each.label for each in board.overall(EVERY)} == {"cascade-ucb1", "cascade-kl-ucb", "random"}
    mean = np.mean([board.normalised(name, "random").mean() for name in ("one", "two", "three")])
    assert next(each.score for each in board.overall(EVERY) if each.label == "random") == pytest.approx(mean)


def test_a_policy_joins_a_finished_board(tmp_path: Path) -> None:
    """What was played is not played again: files of the others keep their times."""
    first = played(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    second = played(tmp_path, {"ours": make("cascade-ucb1(scale=0.1)")})
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert len(list(tmp_path.glob("*.npz"))) == len(times) + 3
    for problem, cells in first.cells.items():
        for label, cell in cells.items():
            assert np.array_equal(second.cells[problem][label].regret, cell.regret)
            assert second.cells[problem][label].cost == cell.cost
    assert "ours" in {each.label for each in second.overall(EVERY)}


def test_the_command_writes_json_and_a_page(tmp_path: Path, capsys: Any) -> None:
    suite, page, file = tmp_path / "suite.json", tmp_path / "board.html", tmp_path / "board.json"
    suite.write_text(SMALL)
    words = ["leaderboard", "ours=cascade-ucb1(scale=0.2)", "--suite", str(suite), "--only", *NAMES, "--steps", "40",
             "--runs", "2", "--threads", "1", "--page", str(page), "--json", str(file), "--tuned", "none"]  # fmt: skip
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert "Every problem" in printed
    assert "ours" in printed
    found = json.loads(file.read_text())
    assert found["settings"] == {
        "suite": 7, "changes": [], "digest": read_suite(SMALL).digest, "problems": 3, "steps": 40, "runs": 2, "seed": 0,
        "engine": "cpu", "tuned": None,
    }  # fmt: skip
    assert found["version"] == toplist.__version__
    assert found["commit"] == code_commit()
    assert found["machine"]["processor"] == processor_name()
    assert found["machine"]["cores"] >= 1
    assert len(found["results"]["one"]["ours"]["regret"]) == 2
    standing = found["standings"][EVERY]["40"][0]
    assert standing["rank"] == 1
    assert 1 <= standing["best"] <= standing["worst"]
    text = page.read_text()
    assert text.count('<table class="sortable">') == 5  # two divisions and three problems
    assert text.count('<div class="scroll">') == 7  # tables and pictures, which are wider than a phone
    assert "c3-ucb" in text
    assert cli.main([*words[:2], "--suite", str(suite), "--problems", "four"]) == 2


def test_the_result_goes_into_a_document(tmp_path: Path, capsys: Any) -> None:
    """Between two marks, with ranks, the best of every problem and a picture; again it is the same."""
    file, document = tmp_path / "board.json", tmp_path / "leaderboard.md"
    board = played()
    board.to_json(file)
    document.write_text(f"Before.\n\n{summary.BEGIN}\nold\n{summary.END}\n\nAfter.\n")
    for _ in range(2):
        assert summary.main([str(file), str(document)]) == 0
        text = document.read_text()
        assert text.startswith("Before.\n")
        assert text.endswith("\n\nAfter.\n")
        assert "old" not in text
        first = board.overall(EVERY)[0]
        assert f"| 1 | {first.best}-{first.worst} | `{first.label}` |" in text
        assert f"{first.score:.4f} ± {(first.high - first.low) / 2:.4f}" in text
        assert "| `three` | `" in text
        best = board.on_problem("three")[0]
        assert f"{best.score:.4f} |" in text.partition("| `three` |")[2].partition("\n")[0]
    picture = (tmp_path / summary.PICTURE).read_text()
    assert picture.count("<circle") == len(board.overall(EVERY))
    assert "cascade-kl-ucb" in picture
    (tmp_path / summary.PICTURE).unlink()
    begin, end = summary.marks("second")
    document.write_text(f"{text}\n{begin}\nold\n{end}\n")
    assert summary.main([str(file), str(document), "--part", "second"]) == 0
    both = document.read_text()
    assert both.startswith(text)
    assert "old" not in both
    assert both.count("| `three` |") == 2
    assert not (tmp_path / summary.PICTURE).exists()  # of the whole board
    document.write_text("No marks.\n")
    assert summary.main([str(file), str(document)]) == 2
    assert "no place for the result" in capsys.readouterr().err


def test_matches_are_compiled_while_others_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in turn on another thread; one that does not compile does not stop the rest, and the end does."""
    seen: list[tuple[Any, str]] = []
    go_on = threading.Event()

    class Recorder:
        def __init__(self, setup: Any, *_: Any, compiled: bool):
            self.setup = setup
            assert compiled

        def play(self, until: int) -> None:
            assert until == 1
            seen.append((self.setup.policy, threading.current_thread().name))
            if len(seen) == 2:
                raise RuntimeError("does not compile")
            if len(seen) == 3:
                go_on.wait(10)

    monkeypatch.setattr(play, "Player", Recorder)
    suite = read_suite(SMALL)
    setups = [match.setup for match in play.matches_of(suite.problems[:1], field_of({}, {}, []), 50, 2)][:5]
    with play.CompilingAhead(setups, 0):
        while len(seen) < 3:
            time.sleep(0.001)
        threading.Timer(0.05, go_on.set).start()
    assert [policy for policy, _ in seen] == [setup.policy for setup in setups[:3]]
    assert {name for _, name in seen}.isdisjoint({threading.current_thread().name})


def test_tuned_parameters_that_are_the_published_ones_play_once() -> None:
    """On problems of a kind without tuned ones; a policy of one's own with the same parts plays by itself."""
    tuned = {"b": {"cascade-ucb1": "cascade-ucb1(scale=0.2)"}}
    contenders = field_of(tuned, {"ours": make("cascade-ucb1")}, ["cascade-ucb1"])
    problems = read_suite(SMALL).problems
    played, equal = play.once(play.matches_of(problems, contenders, 60, 2))
    assert [(match.problem.name, match.contender.label, first.contender.label) for match, first in equal] == [
        (name, "cascade-ucb1, tuned", "cascade-ucb1") for name in ("one", "two")
    ]
    assert len(played) == 3 * 4 - 2
    _, cells = play_suite(problems, contenders, 60, 2, 0, [], threads=1)
    assert cells["one"]["cascade-ucb1, tuned"] is cells["one"]["cascade-ucb1"]
    assert not np.array_equal(cells["three"]["cascade-ucb1, tuned"].regret, cells["three"]["cascade-ucb1"].regret)
    assert np.array_equal(cells["one"]["ours"].regret, cells["one"]["cascade-ucb1"].regret)


def test_workers_of_a_cluster_play_the_same_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--engine ray` hands every run to the pool, and finds the regret of threads; a thread stands for a worker."""
    asked: list[tuple[Any, Any]] = []
    played_there: list[str] = []

    class Workers(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            played_there.append(args[0])
            return super().submit(fn, *args, **kwargs)

    def make_workers(address: str | None, workers: int | None) -> Workers:
        asked.append((address, workers))
        return Workers(1)

    monkeypatch.setattr("toplist.engine.ray_pool.RayPool", make_workers)
    suite = tmp_path / "suite.json"
    suite.write_text(SMALL)
    words = ["leaderboard", "--suite", str(suite), "--only", *NAMES, "--steps", "40", "--runs", "2", "--tuned", "none",
             "--threads", "1", "--quiet", "--json"]  # fmt: skip
    assert cli.main([*words, str(tmp_path / "ray.json"), "--engine", "ray", "--address", "auto"]) == 0
    assert asked == [("auto", 1)]
    assert played_there.count("c3-ucb") == 2  # it needs features: one problem, two runs
    assert len(played_there) == 2 * (3 * 3 + 1)
    assert cli.main([*words, str(tmp_path / "threads.json")]) == 0
    one, other = (json.loads((tmp_path / name).read_text())["results"] for name in ("ray.json", "threads.json"))
    for problem, cells in one.items():
        assert {label: cell["regret"] for label, cell in cells.items()} == {
            label: cell["regret"] for label, cell in other[problem].items()
        }


def test_learned_click_models_are_problems(tmp_path: Path, capsys: Any) -> None:
    """World and users are those of the file, named so that JSON can hold them; tuned parameters of their kind hold."""
    path = generated.write("click-models", tmp_path)
    found = click_models.read(path)
    problems = {problem.name: problem for problem in learned_problems(path)}
    assert len(problems) == 2 * len(found.models)
    query = next(iter(found.queries))
    for model, kind in KINDS.items():
        if model in found.models:
            made, (world, users) = problems[f"learned-{kind}-{query}"].made(), found.people(model, 5)[query]
            assert np.array_equal(made.world.attraction, world.attraction)
            assert part_text(made.users) == part_text(users._replace(**{
                field: np.asarray(value).tolist() for field, value in users._asdict().items()
                if isinstance(value, np.ndarray)
            }))  # fmt: skip
            assert problems[f"learned-{kind}-{query}"].kind in {problem.kind for problem in read_suite().tuning}
    name = f"learned-dbn-{query}"
    words = ["leaderboard", "--learned", str(path), "--problems", name, "--only", "cascade-ucb1", "--steps", "30"]
    assert cli.main([*words, "--runs", "2", "--threads", "1", "--tuned", "none", "--json", "-"]) == 0
    assert list(json.loads(capsys.readouterr().out)["results"]) == [name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--address", "auto"], "add --engine ray"),
        (["--engine", "ray", "--tune", "tuned.json"], "leave out --engine ray"),
    ],
)
def test_flags_that_do_not_fit_are_refused(words: list[str], message: str, capsys: Any) -> None:
    assert cli.main(["leaderboard", *words]) == 2
    assert message in capsys.readouterr().err


def test_tuning_writes_what_is_confirmed(tmp_path: Path) -> None:
    suite, file = tmp_path / "suite.json", tmp_path / "tuned.json"
    suite.write_text(SMALL)
    words = ["leaderboard", "--suite", str(suite), "--only", "cascade-ucb1", "cascade-ts", "--steps", "400", "--runs",
             "4", "--threads", "1", "--tune", str(file), "--quiet"]  # fmt: skip
    assert cli.main(words) == 0
    tuned = read_tuned(file.read_text(), read_suite(SMALL)).policies
    assert set(tuned) == {"a", "b"}
    assert set(tuned["a"]) == {"cascade-ucb1"}  # cascade-ts has nothing to tune
    assert make(tuned["a"]["cascade-ucb1"]).scoring.scale < 1.5
    with pytest.raises(toplist.InvalidInput, match="--tune"):
        read_tuned("{}")


def tuned_text(**settings: Any) -> str:
    return json.dumps({"format": "toplist.tuned", "format_version": 1, "settings": settings, "tuned": {}})


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        (lambda suite: suite.update(version=7), True),
        (lambda suite: suite.update(version=8), True),
        (lambda suite: suite["problems"][0].update(users="dcm"), True),
        (lambda suite: suite["problems"].append(suite["problems"][0] | {"name": "four", "since": 8}), True),
        (lambda suite: suite["tuning"].reverse(), True),
        (lambda suite: suite["tuning"][0].update(users="dcm"), False),
        (lambda suite: suite["tuning"].append(suite["tuning"][0] | {"name": "more"}), False),
    ],
)
def test_the_problems_to_tune_on_say_whether_parameters_fit(
    change: Any, fits: bool, tmp_path: Path, capsys: Any
) -> None:
    """Whatever is ranked: parameters that were tuned on other problems are refused."""
    text = tuned_text(suite=7, tuning=read_suite(SMALL).tuning_digest)
    suite = json.loads(SMALL)
    change(suite)
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    (tmp_path / "tuned.json").write_text(text)
    words = ["leaderboard", "--suite", str(tmp_path / "suite.json"), "--tuned", str(tmp_path / "tuned.json"), "--only",
             "cascade-ucb1", "--steps", "20", "--runs", "2", "--threads", "1"]  # fmt: skip
    assert cli.main(words) == (0 if fits else 2)
    assert ("tune again" in capsys.readouterr().err) == (not fits)
    if fits:
        assert read_tuned(text, read_suite(json.dumps(suite))).settings["suite"] == 7


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        (lambda suite: suite.update(version=7), True),
        (lambda suite: suite["problems"].append(suite["problems"][0] | {"name": "four", "since": 8}), True),
        (lambda suite: suite.update(version=8), False),
        (lambda suite: suite["problems"][0].update(users="dcm"), False),
        (lambda suite: suite["tuning"][0].update(users="dcm"), False),
        (lambda suite: suite["tuning"].append(suite["tuning"][0] | {"name": "more", "since": 8}), False),
    ],
)
def test_tuned_parameters_of_before_fit_the_version_that_they_name(change: Any, fits: bool) -> None:
    """Their one digest has the ranked problems in it; a problem that was added later is none of them."""
    text = tuned_text(suite=7, digest=read_suite(SMALL).digest)
    suite = json.loads(SMALL)
    change(suite)
    if fits:
        assert read_tuned(text, read_suite(json.dumps(suite))).settings["suite"] == 7
    else:
        with pytest.raises(toplist.InvalidInput, match="tune again"):
            read_tuned(text, read_suite(json.dumps(suite)))


def shipped() -> Any:
    """The suite of toplist, as it is written."""
    return json.loads(files("toplist.leaderboard").joinpath("suite.json").read_text())


def test_a_problem_is_added_by_one_entry() -> None:
    """It makes the next version; the earlier ones, their digests and the tuned parameters stay as they are."""
    before, text = read_suite(), shipped()
    text["problems"].append(text["problems"][3] | {"name": "added", "since": before.version + 1})
    suite = read_suite(json.dumps(text))
    assert (suite.version, suite.problems[-1].name) == (before.version + 1, "added")
    assert suite.of_version(before.version) == before
    assert suite.digest != before.digest
    assert read_tuned(suite=suite) == read_tuned(suite=before)


def test_tuned_parameters_that_ship_are_of_the_suite_and_the_catalogue() -> None:
    """All kinds, and in each every policy that can play and has something to tune."""
    suite = read_suite()
    tuned, settings = read_tuned(suite=suite)
    assert set(tuned) == {problem.kind for problem in suite.tuning}
    able = [contender for contender in field_of({}, {}, []) if choices(catalogue()[contender.label])]
    assert settings["policies"] == sorted(contender.label for contender in able)
    for problem in suite.tuning:
        assert set(tuned[problem.kind]) == {contender.label for contender in able if contender.plays(problem)}
        for name, text in tuned[problem.kind].items():
            assert type(make(text)) is type(make(name))


def test_problems_of_a_version_do_not_change() -> None:
    """What was published under a version stays what it was; its digest is that of the boards that cite it."""
    suite, text = read_suite(), shipped()
    for version, digest in DIGESTS.items():
        assert suite.of_version(version).digest == text["digests"][str(version)] == digest
    changed = shipped()
    changed["problems"][3]["users"] = "dcm(termination=0.9)"
    with pytest.raises(toplist.InvalidInput, match="leave its problems as they are"):
        read_suite(json.dumps(changed))
    text["problems"].append(text["problems"][3] | {"name": "added"})
    with pytest.raises(toplist.InvalidInput, match=f'"since": {max(DIGESTS) + 1}'):
        read_suite(json.dumps(text))
    before = json.loads(SMALL) | {"digest": "0123"}  # a file that has the digest of its only version
    with pytest.raises(toplist.InvalidInput, match="0123"):
        read_suite(json.dumps(before))
    assert read_suite(json.dumps(before | {"digest": read_suite(SMALL).digest})) == read_suite(SMALL)


def test_names_that_cannot_play_are_refused() -> None:
    with pytest.raises(toplist.InvalidInput, match="no policy"):
        field_of({}, {}, ["cascade-ucb2"])
    with pytest.raises(toplist.InvalidInput, match="label"):
        field_of({}, {"dcm-ts": make("cascade-ts")}, [])


def test_no_policy_begins_with_the_best_list() -> None:
    """In some worlds the first items are the best; BubbleRank, which improves a given list, must not be given it."""
    (contender,) = (each for each in field_of({}, {}, ["bubble-rank"]) if each.label == "bubble-rank")
    for problem in read_suite().problems:
        ranking = contender.policy(problem).ranking
        positions = problem.made().world.checked().problem(None).positions
        assert sorted(ranking) == list(range(problem.items))
        assert sorted(ranking[:positions]) != list(range(positions)), problem.name
