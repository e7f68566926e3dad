"""Whose traffic gets a record when not everybody's may."""

from pipelines.bridge.proxy.wire import traffic as module
from tests.unit.bridge.proxy.test_traffic import Client, Outlet, Pair, produce


def test_client_that_never_logs_in_leaves_no_record():
    outlet = Outlet()
    client = Client()
    client.named = False
    pair = Pair(outlet, client)
    for number in range(3 * module.MOST_RETIRED):
        pair.ask(produce(10, client_id=b"stranger-%d" % number))
    pair.watch.end()
    outlet.end_time()
    assert not outlet.records
    assert outlet.counters.lost_traffic_records == 0


def test_open_connection_is_counted_when_ended_ones_have_taken_all_room(monkeypatch):
    monkeypatch.setattr(module, "MOST_CLIENTS", 3)
    outlet = Outlet()
    Pair(outlet).ask(produce(10, client_id=b"open"))
    ended = Pair(outlet, Client(2))
    for number in range(4):
        ended.ask(produce(10, client_id=b"ended-%d" % number))
    ended.watch.end()
    outlet.end_time()
    assert len(outlet.records) == 3
    assert b"User:ANONYMOUS/open" in {one.key for one in outlet.records}
    assert outlet.counters.lost_traffic_records == 2
