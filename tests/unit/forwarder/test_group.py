import logging
import threading
import time

import pytest

from pipelines.errors import MissingService
from pipelines.forwarder import group as group_module
from pipelines.forwarder.group import Group
from pipelines.forwarder.pages import Watch
from pipelines.kafka_logs import RepeatFilter, kafka_logger
from pipelines.settings import load_settings


def test_join_without_kafka_reports_progress_and_one_failure(monkeypatch, caplog):
    monkeypatch.setattr(group_module, "PATIENCE_S", 4.0)
    monkeypatch.setattr(group_module, "_PROGRESS_EVERY_S", 1.0)
    monkeypatch.setattr(kafka_logger, "filters", [RepeatFilter()])
    settings = load_settings("local", ["kafka.bootstrap_servers=127.0.0.1:1"])
    connection = {"bootstrap.servers": "127.0.0.1:1"}
    group = Group(settings, connection, None, Watch(30))
    begin_s = time.time()
    with (
        caplog.at_level(logging.INFO),
        pytest.raises(MissingService, match=r"127\.0\.0\.1:1"),
    ):
        group.join(threading.Event())
    group.close()
    failures = [one for one in caplog.records if "FAIL" in one.getMessage()]
    assert len(failures) == 1
    assert failures[0].created - begin_s < 3
    assert "Connecting to Kafka: bootstrap_servers=127.0.0.1:1" in caplog.text
    assert caplog.text.count("Waiting for Kafka: ") >= 2
