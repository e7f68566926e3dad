"""The threads beside the event loop."""

import asyncio
import threading
import time

from pipelines.bridge.push_config.config_counters import ClientConfigCounters
from pipelines.bridge.push_config.policy.contract import ClientConfigData, PolicyContext
from pipelines.bridge.push_config.policy.runner import PolicyRunner
from tests.unit.bridge.push_config.policies import Blocking, Recording

CONTEXT = PolicyContext(
    client_instance_id="i", client_id="app-1", client_software_name="app",
    client_software_version="1", principal="User:a", listener="L",
    client_source_address="::1",
)  # fmt: skip
DATA = ClientConfigData(configs=(), timestamp_ms=0)


def with_runner(test, policy=None, **arguments):
    async def run():
        counters = ClientConfigCounters(10, time.monotonic)
        made = policy or Blocking()
        settings = {"threads": 1, "timeout_ms": 19_000, **arguments}
        runner = PolicyRunner(made, counters=counters, **settings)
        async with asyncio.timeout(20):
            await test(runner, made, counters)

    asyncio.run(run())


def ask(runner, count):
    """Ask so many times; return the decisions as futures."""
    loop = asyncio.get_running_loop()
    decisions = [loop.create_future() for _ in range(count)]
    for one in decisions:
        runner.run(CONTEXT, DATA, one.set_result)
    return decisions


def test_pushes_do_not_pile_up_behind_a_policy_that_blocks():
    async def test(runner, policy, counters):
        decisions = ask(runner, 5)
        assert [one.done() for one in decisions] == [False, False, True, True, True]
        assert counters.skipped_policies == 3
        policy.may_go.set()
        assert await asyncio.gather(*decisions) == [None] * 5
        assert len(policy.calls) == 2
        assert counters.late_policies == 0
        # There is room again.
        assert not ask(runner, 1)[0].done()
        await runner.close(10)
        assert policy.is_closed

    with_runner(test, max_waiting_jobs=2)


def test_a_late_job_keeps_its_place_until_the_policy_has_finished_it():
    async def test(runner, policy, counters):
        (late,) = ask(runner, 1)
        assert await late is None
        assert counters.late_policies == 1
        (skipped,) = ask(runner, 1)
        assert skipped.done()
        assert counters.skipped_policies == 1
        policy.may_go.set()
        await runner.close(10)

    with_runner(test, timeout_ms=1, max_waiting_jobs=1)


def test_several_threads_call_the_policy_at_once():
    class Meeting(Recording):
        everyone = threading.Barrier(3)

        def process(self, _context, _client_config_data):
            self.everyone.wait(10)

    async def test(runner, _policy, counters):
        assert await asyncio.gather(*ask(runner, 3)) == [None] * 3
        assert counters.snapshot()["policy-error-count"] == {"i": 0}
        await runner.close(10)

    with_runner(test, Meeting(), threads=3)


def test_an_end_does_not_wait_for_a_policy_that_blocks(caplog):
    async def test(runner, policy, _counters):
        ask(runner, 1)
        await runner.close(0.01)
        assert not policy.is_closed
        assert all(thread.daemon for thread in runner._threads)
        policy.may_go.set()

    with_runner(test)
    assert caplog.messages == ["the policy has not closed in 0.01 s and is left"]
