"""Send real clients each error code that the bridge can send; do they push again?

Usage: python tests/long/error_codes.py [--clients librdkafka,java,java-3.9.2]
                                                  [--only "PushTelemetry 117"]

A real Apache Kafka, a bridge for each case, and a real client behind a relay. Where
the bridge can be brought to answer so, it is: a subscription changes, a push is larger
than allowed, Kafka is frozen. Elsewhere the relay alters one request of the client on
its way, so that the bridge's answer is real, too. Java waits five minutes after a
refused first GetTelemetrySubscriptions and after a cut connection, and who never pushes
again must be silent for longer: hence the time that this takes.
"""

import argparse
import asyncio
import contextlib
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.bridge.server import BridgeServer  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.reading.text_tables import format_table  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.settings.secret_references import SecretReader  # noqa: E402 - path
from tests.support.bridge.altering_relay import PUSH, Relay  # noqa: E402 - path
from tests.support.bridge.error_code_cases import (  # noqa: E402 - path
    CASES,
    INTERVAL_MS,
    NAMES,
    ONE_METRIC,
    Case,
    Stage,
    freeze_kafka,
    put_subscription,
)
from tests.support.clients.error_code_clients import (  # noqa: E402 - path
    CLIENT_IDS,
    CLIENTS,
    find_java,
)

FIRST_PUSH_S = 180
TOO_LARGE = 118


@dataclass(frozen=True)
class Result:
    """What became of one client in one case."""

    client: str
    case: Case
    was_sent: bool
    next_request: str
    next_after_s: float | None
    again_after_s: float | None
    """Seconds from the error to the next accepted push; None for never."""

    @property
    def is_right(self):
        came_back = self.again_after_s is not None
        return self.was_sent and came_back == (self.client not in self.case.gone)


@contextlib.asynccontextmanager
async def stage_for(kafka, case, client):
    """Run a bridge behind a relay."""
    relay = Relay(CLIENT_IDS[client])
    port = await relay.start()
    subscription = f'{{name="s",metrics=["*"],interval_ms={INTERVAL_MS},match=[]}}'
    settings = load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            "topics.telemetry=error-codes",
            "topics.partitions=1",
            "bridge.listen_port=0",
            f"bridge.advertised_port={port}",
            f"subscriptions=[{subscription}]",
            *(case.overrides(client) if case.overrides else ()),
        ],
    )
    server, stop = BridgeServer(settings, SecretReader(environ={})), asyncio.Event()
    address = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group, contextlib.AsyncExitStack() as closing:
        group.create_task(
            server.serve(stop, lambda *endpoint: address.set_result(endpoint))
        )
        try:
            relay.connect_to(*await address)
            yield Stage(kafka, server, relay, await address, closing), port
        finally:
            await relay.close()
            stop.set()


async def play(kafka, case, client):
    """Play one case; return what was seen."""
    async with stage_for(kafka, case, client) as (stage, port):
        relay = stage.relay
        if case.is_before_start:
            await case.provoke(stage)
        started_s = time.monotonic()
        async with CLIENTS[client](port):
            if not case.is_before_start:
                pushed = await relay.wait_for(
                    PUSH, 0, after_s=0, timeout_s=FIRST_PUSH_S
                )
                assert pushed, f"{client} has not pushed: {relay.seen}"
                started_s = time.monotonic()
                await case.provoke(stage)
            sent = await relay.wait_for(
                case.api_key, case.error_code, after_s=started_s, timeout_s=FIRST_PUSH_S
            )
            if sent is None:
                return Result(client, case, False, "", None, None)
            return await follow(stage, case, client, sent)


async def follow(stage, case, client, sent):
    """See what the client does after the error."""
    relay = stage.relay
    await stage.closing.aclose()
    if case.error_code == TOO_LARGE:
        put_subscription(stage.server, ONE_METRIC)
    timeout_s = case.patience_s(client)
    again = await relay.wait_for(PUSH, 0, after_s=sent.answered_s, timeout_s=timeout_s)
    following = relay.next_telemetry(sent.answered_s)
    return Result(
        client,
        case,
        True,
        NAMES[following.api_key] if following else "none",
        following.asked_s - sent.answered_s if following else None,
        again.answered_s - sent.answered_s if again else None,
    )


async def run(clients, only, say):
    """Play all cases: those that freeze Kafka by themselves, the others side by side."""
    results, alone = [], asyncio.Semaphore(6)

    async def play_and_say(kafka, case, client):
        async with alone:
            result = await play(kafka, case, client)
        say(
            f"{client:11} {case.name:29} {'as expected' if result.is_right else 'WRONG'}"
        )
        results.append(result)

    with EmbeddedKafka(java=find_java()) as kafka:
        cases = [case for case in CASES if only in {"", case.name}]
        freezing = [case for case in cases if case.provoke is freeze_kafka]
        for case in freezing:
            for client in clients:
                await play_and_say(kafka, case, client)
        async with asyncio.TaskGroup() as group:
            for case in cases:
                if case not in freezing:
                    for client in clients:
                        group.create_task(play_and_say(kafka, case, client))
    return results


def print_results(results):
    order = {case.name: index for index, case in enumerate(CASES)}
    results = sorted(results, key=lambda one: (order[one.case.name], one.client))
    names = ["client", "error code", "by", "next request", "after s", "pushes again s",
             "verdict"]  # fmt: skip
    rows = [
        [
            one.client,
            one.case.name,
            one.case.how,
            one.next_request,
            one.next_after_s,
            one.again_after_s,
            "as expected" if one.is_right else "WRONG",
        ]
        for one in results
    ]
    print(f"\npush interval {INTERVAL_MS} ms; - means never\n")
    print(format_table(names, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--only", default="", help="name of one case")
    arguments = parser.parse_args()
    clients = arguments.clients.split(",")
    results = asyncio.run(
        run(clients, arguments.only, lambda text: print(text, flush=True))
    )
    print_results(results)
    return 0 if results and all(one.is_right for one in results) else 1


if __name__ == "__main__":
    sys.exit(main())
