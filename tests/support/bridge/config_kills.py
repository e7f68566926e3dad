"""Bridges over one store of dynamic client configs, altered while they are killed."""

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from pipelines.kafka_client.client_configs import Op
from pipelines.kafka_client.primitives import MalformedBytes
from tests.support.bridge.bridge_process import BridgeProcess, list_children
from tests.support.bridge.dynamic_configs import (
    ConfigClient,
    set_configs,
    user,
    wait_loaded,
)

AGREE_S = 2.0
KEYS = 1_000
CONNECTIONS = 20
ASKED = 8
"""Connections to each bridge that must say the same: both workers have some."""
PATIENCE_S = 180
RETRY_S = 0.05
TIMED_OUT, LOADING = 7, 14
ALLOW = 'sensitive_keys.rules=[{name="mine",key_prefixes=["k."],action="allow"}]'
ALICE = user("alice")


class KilledBridges:
    """Two bridges of two workers each; `with` ends them."""

    def __init__(self, folder, servers, topic):
        keys = folder / "keys.toml"
        table = '[[keys]]\nname="k.{}"\nclient_types=["producer"]\ntype="INT"\n'
        keys.write_text("".join(map(table.format, range(KEYS))))
        shared = (
            *('bridge.admin_principals=["User:ANONYMOUS"]', ALLOW, "bridge.workers=2"),
            *("dynamic_configs.enabled=true", f"dynamic_configs.keys_location={keys}"),
            *("cluster.source=off", f"topics.client_configs={topic}"),
            f"topics.client_registrations={topic}-registrations",
            "bridge.http_port=0",
        )
        self.bridges = []
        for name in ("a", "b"):
            (own := folder / name).mkdir()
            given = (own, servers, f"{topic}-pushes", *shared)
            self.bridges.append(BridgeProcess(*given, f"bridge.bridge_id={name}"))
        self.unsure = 0
        """Alterations that were not answered, or not in time, and were tried again."""

    def __enter__(self):
        for one in self.bridges:
            one.start()
        self.wait_loaded()
        return self

    def __exit__(self, *_exception):
        for one in self.bridges:
            one.close()

    @property
    def places(self):
        return [one.address for one in self.bridges]

    def wait_loaded(self):
        """Wait until workers of both have read all."""
        for place in self.places * ASKED:
            wait_loaded(place)

    def alter_all(self, value, kills=()):
        """Set all keys at once, each until it is acknowledged.

        Args:
            kills: What to call on the way, each after the same number of keys.
        """
        done = 0
        has_reached = threading.Condition()

        def alter(number):
            nonlocal done
            self.alter_until_done(number, value)
            with has_reached:
                done += 1
                has_reached.notify_all()

        def kill_all():
            for place, kill in enumerate(kills, 1):
                wanted = place * KEYS // (len(kills) + 1)
                with has_reached:
                    assert has_reached.wait_for(lambda n=wanted: done >= n, PATIENCE_S)
                kill()

        with ThreadPoolExecutor(CONNECTIONS + 1) as pool:
            killing = pool.submit(kill_all)
            list(pool.map(alter, range(KEYS)))
            killing.result()

    def alter_until_done(self, number, value):
        """Set one key, at one bridge or the other."""
        alteration = set_configs(ALICE)._replace(ops=(Op(f"k.{number}", str(value)),))
        deadline = time.monotonic() + PATIENCE_S
        place = number
        while True:
            with contextlib.suppress(OSError, MalformedBytes):
                with ConfigClient(self.places[place % 2]) as one:
                    ((code, text),) = one.alter(alteration)
                if not code:
                    return
                assert code in {TIMED_OUT, LOADING}, text
            assert time.monotonic() < deadline
            place += 1
            self.unsure += 1
            threading.Event().wait(RETRY_S)

    def see_everywhere(self, expected):
        """Ask all workers until they say the same; return the seconds that took.

        A worker that was killed is asked when it has read all again.
        """
        with ExitStack() as opened:
            asking = [
                opened.enter_context(ConfigClient(place))
                for place in self.places * ASKED
            ]
            for one in asking:
                one.wait_loaded()
            started = time.monotonic()
            for one in asking:
                while one.find_all().get(ALICE) != expected:
                    assert time.monotonic() - started < AGREE_S
                    threading.Event().wait(0.02)
        return time.monotonic() - started

    def kill_worker(self, which):
        """End one process of a bridge, which starts it again."""
        os.kill(list_children(self.bridges[which].pid)[0], signal.SIGKILL)

    def kill_bridge(self, which):
        """End a bridge with its workers as a power cut would."""
        bridge = self.bridges[which]
        workers = list_children(bridge.pid)
        bridge.kill()
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def restart(self, which):
        """Kill a bridge, and start it again."""
        self.kill_bridge(which)
        self.bridges[which].start()
