"""Share consumers behind the proxy, with less memory than their answers need."""

from concurrent.futures import ThreadPoolExecutor

from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.proxy_support import (
    ProxiedClients,
    find_servers,
    proxy_settings,
    write_all,
)
from tests.support.clients.share_consumers import make_share_consumer, read_shared

CONSUMERS = 4
VALUES = [bytes([number]) * 900_000 for number in range(12)]
LIMIT = "proxy.max_buffered_response_bytes=4194304"


def test_share_consumers_beyond_the_memory_limit_wait_and_read_all(kafka):
    direct = ProxiedClients(kafka.bootstrap_servers)
    topic = direct.create_topic(1, 1)
    write_all(direct.producer("fill"), topic, VALUES)
    with (
        running_bridge(proxy_settings(kafka, LIMIT)) as (server, _endpoint),
        ThreadPoolExecutor(CONSUMERS) as threads,
    ):
        servers = {"bootstrap.servers": find_servers(server)}
        reading = [
            threads.submit(
                read_shared,
                make_share_consumer(direct.admin, **servers),
                topic,
                len(VALUES),
            )
            for _ in range(CONSUMERS)
        ]
        assert all(sorted(one.result()) == VALUES for one in reading)
        assert server.counters.delayed_responses > 0
        assert server.counters.stalled_responses == 0
        assert server.counters.malformed_responses == 0
