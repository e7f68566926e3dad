"""Units that clients leave out, of metrics as they really send them."""

import pytest

from pipelines.reading.metric_units import short_name, unit_of

UNITS = {
    "producer.request.latency.avg": "ms",
    "producer.record.queue.time.max": "ms",
    "producer.produce.throttle.time.avg": "ms",
    "producer.outgoing.byte.rate": "bytes/s",
    "consumer.fetch.manager.bytes.consumed.rate": "bytes/s",
    "producer.record.send.rate": "1/s",
    "producer.compression.rate.avg": "ratio, 0 to 1",
    "consumer.poll.idle.ratio.avg": "ratio, 0 to 1",
    "producer.io.time.ns.avg": "ns",
    "producer.batch.size.avg": "bytes",
    "consumer.fetch.manager.records.lag.max": "records",
    "producer.records.per.request.avg": "records",
    "consumer.coordinator.rebalance.rate.per.hour": "1/h",
    "consumer.last.poll.seconds.ago": "s",
    "consumer.time.between.poll.max": "ms",
    "consumer.coordinator.assigned.partitions": "partitions",
    "producer.requests.in.flight": "number",
}


@pytest.mark.parametrize("metric", UNITS)
def test_a_gauge_has_the_unit_of_its_name(metric):
    assert unit_of(f"org.apache.kafka.{metric}", "gauge") == UNITS[metric]


def test_a_sum_grows_by_the_second_and_a_unit_that_is_sent_counts():
    assert unit_of("org.apache.kafka.producer.record.send.total", "sum") == "1/s"
    assert unit_of("a.outgoing.byte.total", "sum") == "bytes/s"
    assert unit_of("a.rebalance.latency.total", "sum") == "ms/s"
    assert unit_of("a.latency.avg", "gauge", "us") == "us"


def test_a_short_name_goes_without_what_all_have():
    assert short_name("org.apache.kafka.producer.x") == "producer.x"
