"""A store remembers which code of a policy its learners were made with, and says so when it is another one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest
from running import (
    Clock,
    at_work,
    check,
    events,
    front,
    learned,
    ranking_of,
    reader_of,
    run,
    service_of,
    shown,
    told,
)

from toplist.core.problem import InvalidInput
from toplist.service.live.rankings import ranking_rows
from toplist.service.log import policy_code as module
from toplist.service.log.policy_code import policy_code
from toplist.service.log.settings import LearnerSettings
from toplist.service.log.verify import code_warnings
from toplist.service.wire import RankingChange

POLICY = "cascade-ucb1"


@contextmanager
def other_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every policy has another fingerprint, as if its code had been edited."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "fingerprint", lambda *_, **__: "edited")
        policy_code.cache_clear()
        yield
    policy_code.cache_clear()


def said(path: Path) -> list[str]:
    """What `toplist store check` says about code."""
    with closing(reader_of(path)) as reader:
        return list(code_warnings(reader))


def test_other_code_is_told_at_start_and_in_the_ranking_until_learners_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY)
            for _ in range(5):
                await told(service, await shown(service), 1, final=True)
            made = await service.queries.ranking("front")
            assert made.code == policy_code(POLICY)
            assert made.code_warning is None
        assert said(tmp_path / "db") == []
        async with at_work(tmp_path / "db") as service:  # the same code: nothing to say
            assert (await service.queries.ranking("front")).code_warning is None
        with other_code(monkeypatch):
            assert len(said(tmp_path / "db")) == 1
            async with at_work(tmp_path / "db") as service:
                found = await service.queries.ranking("front")
                assert found.code == made.code  # its learners are the same ones
                assert found.code_warning is not None
                assert f"{made.code}, now {module.PYTHON}:edited" in found.code_warning
                assert said(tmp_path / "db") == [found.code_warning]
                # Another setting changes nothing; the same policy once more makes new learners.
                kept = await service.rankings.change("front", RankingChange(click_window=30.0))
                assert kept.code_warning is not None
                anew = await service.rankings.change("front", RankingChange(policy=POLICY))
                assert anew.code == f"{module.PYTHON}:edited"
                assert anew.code_warning is None
                assert await learned(service) == 5  # trained on the log
                bodies = [msgspec.json.decode(each.body) for each in await events(service) if each.kind == "ranking"]
            assert said(tmp_path / "db") == []
            assert check(tmp_path / "db") == []
        assert [body["code"] for body in bodies] == [made.code, made.code, f"{module.PYTHON}:edited"]

    run(work())


def test_each_ranking_is_told_once_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str]] = []

    async def work() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY)
        with other_code(monkeypatch):
            clock = Clock()
            service = service_of(tmp_path / "db", clock)
            service.on_code_warning = lambda ranking, warning: heard.append((ranking, warning))
            await service.start()
            service.transactions.drop_state()  # as after a failed commit: it is loaded again
            clock.pass_(60)
            await service.transactions.state()
            await service.stop()

    run(work())
    assert [ranking for ranking, _ in heard] == ["front"]


def test_a_store_of_an_older_version_gets_the_code_of_its_first_start(tmp_path: Path) -> None:
    async def work() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY)
            await told(service, await shown(service), 1, final=True)
            ranking = ranking_of(service)
            ranking.change_settings(ranking.settings._replace(code=""))  # as an older version wrote it
            state = service.transactions.loaded_state
            assert state is not None
            await service.transactions.commit(ranking_rows(ranking, state.next_seq(), service.transactions.clock(), ""))
            before = len(await events(service))
        assert said(tmp_path / "db") == []  # nothing is known of it
        for _ in range(2):
            async with at_work(tmp_path / "db") as service:
                assert (await service.queries.ranking("front")).code == policy_code(POLICY)
                await service.settle()
                assert len(await events(service)) == before + 1  # once
                assert await learned(service) == 1
        assert check(tmp_path / "db") == []

    run(work())


def test_a_policy_that_is_gone_is_told_with_its_ranking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, POLICY)

        def gone(_: LearnerSettings) -> None:
            raise InvalidInput("There is no policy 'mine'.")

        monkeypatch.setattr(LearnerSettings, "capabilities", gone)
        with pytest.raises(InvalidInput, match=r"The ranking 'front' has the policy .* install its package"):
            async with at_work(tmp_path / "db"):
                pass

    run(work())
