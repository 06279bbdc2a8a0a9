"""The time of the database, as a server knows it."""

from toplist.service.clock import boot_time
from toplist.service.cluster.owners import DatabaseClock

SECOND = 10**9
FAR = 1_800_000_000 * SECOND  # what the clock of the database says, whatever that of this machine says


def followed() -> tuple[DatabaseClock, int]:
    """A clock that was told the time, and the moment of it."""
    clock, moment = DatabaseClock(), boot_time()
    clock.follow(FAR, moment, moment + SECOND // 1000)
    return clock, moment


def seconds_off(clock: DatabaseClock, moment: int) -> float:
    """By how much the time differs from the database's."""
    return clock() / 1000 - (FAR + boot_time() - moment) / SECOND


def test_the_time_is_the_databases() -> None:
    assert abs(seconds_off(*followed())) < 0.1


def test_an_answer_that_came_late_moves_nothing() -> None:
    """A server was stopped for 20 seconds between question and answer, or the answer was on its way for so long."""
    clock, moment = followed()
    for said in (0, 20):  # when the database looked at its clock
        clock.follow(FAR + said * SECOND, moment, moment + 20 * SECOND)
        assert abs(seconds_off(clock, moment)) < 0.1
        assert clock.is_believed


def test_a_clock_that_drifts_is_followed() -> None:
    clock, moment = followed()
    for step in range(1, 11):
        asked = moment + step * SECOND
        clock.follow(FAR + step * SECOND + step * SECOND // 10, asked, asked + SECOND // 1000)
        clock()
    assert 0.9 < seconds_off(clock, moment) < 1.1
    assert clock.is_believed


def test_a_step_of_the_database_is_doubted() -> None:
    clock, moment = followed()
    clock.follow(FAR + 3600 * SECOND, moment, moment + SECOND // 1000)
    assert abs(seconds_off(clock, moment)) < 0.1
    assert not clock.is_believed


def test_a_first_answer_that_took_long_is_corrected_without_doubt() -> None:
    for said in (0, 10):  # when the database looked at its clock
        clock, moment = DatabaseClock(), boot_time()
        clock.follow(FAR + said * SECOND, moment, moment + 10 * SECOND)
        assert abs(seconds_off(clock, moment)) > 4.0
        clock.follow(FAR + 11 * SECOND, moment + 11 * SECOND, moment + 11 * SECOND + SECOND // 1000)
        assert abs(seconds_off(clock, moment)) < 0.1
        assert clock.is_believed
        clock.follow(FAR + 20 * SECOND, moment + 12 * SECOND, moment + 12 * SECOND + SECOND // 1000)
        clock()
        assert not clock.is_believed  # a step
