"""What status sees of a topic that a real broker holds."""

import time

from confluent_kafka import Producer

from pipelines.watching.topics import look_at_topics
from tests.support.jobs.job_support import create_topic

PATIENCE_S = 60


def test_records_of_an_aborted_transaction_wait_for_nobody(kafka, tmp_path):
    servers, topic = kafka.bootstrap_servers, f"aborted-{tmp_path.name}"
    create_topic(servers, topic, partitions=1)
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": tmp_path.name}
    )
    producer.init_transactions(PATIENCE_S)

    def look():
        config = {"bootstrap.servers": servers}
        return look_at_topics(config, {topic: {0: 0}}, timeout_s=PATIENCE_S)[topic]

    producer.begin_transaction()
    producer.produce(topic, b"aborted")
    assert producer.flush(PATIENCE_S) == 0
    producer.abort_transaction(PATIENCE_S)
    seen = look()
    assert (seen.unread, seen.waiting_since_ms, seen.is_made_anew) == (0, None, False)
    began_ms = time.time_ns() // 1_000_000
    producer.begin_transaction()
    producer.produce(topic, b"written")
    producer.commit_transaction(PATIENCE_S)
    seen = look()
    assert seen.unread > 0
    assert seen.waiting_since_ms >= began_ms
