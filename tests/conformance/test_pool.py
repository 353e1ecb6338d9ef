"""The pool that executes tasks of a run concurrently, with a limit for each queue of tasks."""

import threading
from collections.abc import Iterable

import pytest
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.runner.pool import LONG_SECONDS, Pool, Task, TaskQueue

SECONDS_MAX = 20.0


def done(name: str) -> list[Outcome]:
    """Return the outcomes of a task."""
    return [Outcome(name, "nowhere", Verdict.SAME, 0.0)]


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_a_queue_with_a_limit_of_one_runs_its_tasks_one_by_one(jobs: int) -> None:
    """Tasks of a queue with a limit of one run one by one, while other threads run those of the next queue."""
    lock = threading.Lock()
    running = most = 0
    second_broker = threading.Semaphore(0)

    def slow() -> Iterable[Outcome]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        if jobs > 1:
            assert second_broker.acquire(timeout=SECONDS_MAX)  # waits for a task of the other queue
        with lock:
            running -= 1
        return done("slow")

    def quick() -> Iterable[Outcome]:
        second_broker.release()
        return done("quick")

    found: list[str] = []
    pool = Pool(jobs, lambda outcome: found.append(outcome.id))
    slows: list[Task] = [slow] * 5
    pool.run([TaskQueue(slows, at_once=1), TaskQueue([quick] * 5)], [])
    assert pool.problem is None
    assert most == 1
    assert sorted(found) == ["quick"] * 5 + ["slow"] * 5


def test_one_thread_runs_all_tasks_of_the_first_queue_first() -> None:
    found: list[str] = []
    pool = Pool(1, lambda outcome: found.append(outcome.id))
    pool.run([TaskQueue([lambda: done("a"), lambda: done("b")], at_once=3), TaskQueue([lambda: done("c")])], [])
    assert found == ["a", "b", "c"]


@pytest.mark.parametrize(("seconds", "most_beside"), [(LONG_SECONDS, 4), (LONG_SECONDS / 2, 2)])
def test_while_jobs_wait_long_others_start_in_their_place(seconds: float, most_beside: int) -> None:
    """While jobs wait for a long time, as many other jobs start; during short waits none starts."""
    lock = threading.Lock()
    running = most = 0

    def waits() -> Iterable[Outcome]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pool.sleep(seconds)
        with lock:
            running -= 1
        return done("waited")

    found: list[str] = []
    pool = Pool(2, lambda outcome: found.append(outcome.id))
    pool.run([TaskQueue([waits] * 6)], [])
    assert most == most_beside
    assert found == ["waited"] * 6


def test_with_one_job_no_task_starts_while_it_waits() -> None:
    order: list[str] = []

    def waits() -> Iterable[Outcome]:
        order.append("begun")
        pool.sleep(LONG_SECONDS)
        order.append("done")
        return done("waited")

    pool = Pool(1, lambda _: None)
    pool.run([TaskQueue([waits] * 2)], [])
    assert order == ["begun", "done"] * 2


def test_an_exception_of_a_task_ends_the_run() -> None:
    """An exception of a task is the problem of the pool, and no further task starts."""

    def broken() -> Iterable[Outcome]:
        raise RuntimeError("broken")

    found: list[str] = []
    pool = Pool(1, lambda outcome: found.append(outcome.id))
    pool.run([TaskQueue([broken]), TaskQueue([lambda: done("later")])], [])
    assert str(pool.problem) == "broken"
    assert found == []
