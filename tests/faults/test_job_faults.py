from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter

import pytest

from tests.engines import RedisServer, free_port, run_redis
from tests.faults.worlds import World, wait_until

pytestmark = pytest.mark.faults


def test_claim_gives_each_job_to_one_of_six(world: World) -> None:
    ids = world.ask("make_rows", 40)
    claimers = [world.driver() for _ in range(6)]

    for number, claimer in enumerate(claimers):
        claimer.tell("claim", ids, f"worker-{number}")
    claimed = Counter(job_id for claimer in claimers for job_id in claimer.answer())

    assert claimed == Counter(ids)


def test_enqueue_of_one_key_by_four_processes_makes_one_row(world: World) -> None:
    askers = [world.driver() for _ in range(4)]

    for asker in askers:
        asker.tell("enqueue", "faults.quick", 25, "the key")
    ids = {job_id for asker in askers for job_id in asker.answer()}

    assert len(ids) == 1
    assert world.ask("statuses") == {"queued": 1}


def test_two_sweeps_at_once_take_each_job_back_once(world: World) -> None:
    ids = world.ask("make_rows", 40)
    world.ask("lose", ids)
    sweepers = [world.driver() for _ in range(2)]

    for sweeper in sweepers:
        sweeper.tell("sweep")
    taken = [sweeper.answer()["taken_back"] for sweeper in sweepers]

    assert sum(taken) == len(ids)
    assert world.ask("statuses") == {"queued": len(ids)}
    assert world.ask("row", ids[0])["attempt"] == 1


def test_many_writers_never_meet_a_locked_database(world: World) -> None:
    writers = [world.driver() for _ in range(4)]

    for writer in writers:
        writer.tell("work_hard", 3)
    rounds = [writer.answer() for writer in writers]

    assert world.ask("statuses") == {"succeeded": sum(rounds)}
    assert min(rounds) > 0


def test_a_killed_worker_loses_its_job_to_another_that_ends_it_once(world: World) -> None:
    first = world.start_worker()
    [job_id] = world.ask("enqueue", "faults.hang_first")
    wait_until(lambda: world.marks()["start", job_id], "the first attempt")
    first.kill()

    world.start_worker()
    wait_until(lambda: world.ask("row", job_id)["status"] == "succeeded", "the second attempt")

    assert world.marks() == {("start", job_id): 2, ("end", job_id): 1}
    assert world.ask("row", job_id)["attempt"] == 2


@pytest.mark.redis
@pytest.mark.postgres
def test_a_killed_process_of_a_pool_loses_its_job_to_another(production: World) -> None:
    production.start_worker(pool="prefork")
    [job_id] = production.ask("enqueue", "faults.hang_first")
    wait_until(lambda: production.marks()["start", job_id], "the first attempt")
    os.kill(int(production.ask("row", job_id)["worker"].rpartition(":")[2]), signal.SIGKILL)

    wait_until(lambda: production.ask("row", job_id)["status"] == "succeeded", "the second attempt")

    assert production.marks() == {("start", job_id): 2, ("end", job_id): 1}


def test_a_worker_told_to_stop_gives_its_job_back_uncounted(world: World) -> None:
    worker = world.start_worker()
    [job_id] = world.ask("enqueue", "faults.obedient")
    wait_until(lambda: world.marks()["start", job_id], "the job")

    worker.popen.terminate()
    worker.popen.wait(10)

    row = world.ask("row", job_id)
    assert (row["status"], row["attempt"], row["worker"]) == ("queued", 0, "")


def test_a_worker_told_to_stop_ends_although_a_job_is_deaf(world: World) -> None:
    worker = world.start_worker()
    [job_id] = world.ask("enqueue", "faults.deaf")
    wait_until(lambda: world.marks()["start", job_id], "the job")
    began = time.monotonic()

    worker.popen.terminate()
    worker.popen.wait(20)

    assert time.monotonic() - began < 8
    assert world.ask("row", job_id)["status"] == "running"


def test_unknown_messages_do_not_stop_a_worker(world: World) -> None:
    world.start_worker()
    world.ask("ring", "job_nobody_knows")
    [unknown] = world.ask("enqueue", "faults.nobody_handles_this")
    [known] = world.ask("enqueue", "faults.quick")

    wait_until(lambda: world.ask("row", known)["status"] == "succeeded", "the job after them")
    wait_until(lambda: world.ask("row", unknown)["status"] == "failed", "the job nobody handles")

    assert world.ask("row", unknown)["error"] == "unknown-kind"


@pytest.mark.redis
@pytest.mark.postgres
def test_flushing_redis_loses_no_job(production: World, redis_server: RedisServer) -> None:
    ids = production.ask("enqueue", "faults.quick", 20)
    redis_server.connect().flushall()

    production.start_worker()
    wait_until(lambda: production.ask("statuses") == {"succeeded": 20}, "all jobs")

    assert production.marks() == Counter({(word, job_id): 1 for job_id in ids for word in ("start", "end")})


def test_wiping_the_broker_folder_under_a_worker_loses_no_job(embedded: World) -> None:
    ids = embedded.ask("enqueue", "faults.quick", 10)
    shutil.rmtree(embedded.folder / "broker")
    embedded.start_worker()
    wait_until(lambda: embedded.ask("statuses") == {"succeeded": 10}, "jobs from before the worker")

    shutil.rmtree(embedded.folder / "broker")
    ids += embedded.ask("enqueue", "faults.quick", 10)
    wait_until(lambda: embedded.ask("statuses") == {"succeeded": 20}, "jobs after a second wipe")

    assert embedded.marks() == Counter({(word, job_id): 1 for job_id in ids for word in ("start", "end")})


@pytest.mark.redis
@pytest.mark.postgres
def test_a_broker_that_is_down_delays_no_request(production: World) -> None:
    production.environment["MNOTE_REDIS_URL"] = f"redis://127.0.0.1:{free_port()}/0"
    caller = production.driver()
    caller.ask("statuses")
    began = time.monotonic()

    ids = caller.ask("enqueue", "faults.quick", 50)

    assert time.monotonic() - began < 5
    assert len(ids) == 50
    assert caller.ask("statuses") == {"queued": 50}
    assert "broker" in caller.ask("failing")


@pytest.mark.redis
@pytest.mark.postgres
def test_a_worker_survives_a_broker_that_restarts_empty(production: World) -> None:
    port = free_port()
    production.environment["MNOTE_REDIS_URL"] = f"redis://127.0.0.1:{port}/0"
    with run_redis(port):
        worker = production.start_worker()
        [first] = production.ask("enqueue", "faults.quick")
        wait_until(lambda: production.ask("row", first)["status"] == "succeeded", "a job before")
    [second] = production.ask("enqueue", "faults.quick")

    with run_redis(port):
        wait_until(lambda: production.ask("row", second)["status"] == "succeeded", "the job asked for meanwhile")
        assert worker.popen.poll() is None
