"""The page of a driver: its address, its content, and who may have it."""

import contextlib
import http.client
import logging
import re
import socket
from types import SimpleNamespace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pipelines.commands.job_pages import served_metrics
from pipelines.errors import MissingService
from pipelines.settings import load_settings
from pipelines.settings.watching_settings import STREAMING_JOBS

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}


class Session:
    """What a session of Spark keeps of listeners."""

    def __init__(self):
        self.listeners = []

    @property
    def streams(self):
        return self

    def addListener(self, listener):  # noqa: N802 - Spark's
        self.listeners.append(listener)


def make_settings(folder, port, *more):
    return load_settings(
        "local",
        [f"watching.jobs_http_port={port}", f"tables.root_path={folder}", *more],
    )


def fetch(port, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics", headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.getheader("Content-Type"), text


def find_port(caplog):
    [line] = [record.getMessage() for record in caplog.records]
    return int(re.fullmatch(r"metrics: http://127.0.0.1:(\d+)/metrics", line)[1])


def test_a_driver_shows_its_jobs_and_their_tables(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pipelines")
    session = Session()
    settings = make_settings(tmp_path, 0)
    jobs = ["client_telemetry_to_delta", "client_traffic_to_delta"]
    with served_metrics([session], settings, jobs) as metrics:
        assert session.listeners == [metrics]
        port = find_port(caplog)
        # The tables of the other one need not be there yet.
        metrics.onQueryStarted(SimpleNamespace(name=jobs[0], runId="run"))
        kind, text = fetch(port, OPENMETRICS)
        plain, _ = fetch(port, {})
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert plain.startswith("text/plain; version=0.0.4")
    samples = [s for f in text_string_to_metric_families(text) for s in f.samples]
    shown = {s.labels["query"] for s in samples if "query" in s.labels}
    assert shown == {*jobs}
    tables = {s.labels["table"] for s in samples if "table" in s.labels}
    assert tables == {
        *("client_metrics", "quarantine", "client_instances", "client_pushes"),
    }
    assert "process_resident_memory_bytes" in {s.name for s in samples}
    with pytest.raises(ConnectionRefusedError):
        fetch(port, {})


def test_tables_elsewhere_are_not_shown(caplog):
    caplog.set_level(logging.INFO, "pipelines")
    settings = make_settings("hdfs://name/tables", 0)
    with served_metrics([Session()], settings, STREAMING_JOBS[:1]):
        _, text = fetch(find_port(caplog), {})
    assert "kafka_clientele_query_up" in text
    assert "kafka_clientele_table" not in text


def test_a_port_that_somebody_has_is_told_with_its_keys(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = make_settings(tmp_path, port)
        session = Session()
        with (
            pytest.raises(MissingService, match=r"watching\.jobs_http_port") as caught,
            served_metrics([session], settings, STREAMING_JOBS[:1]),
        ):
            pytest.fail("served")
    assert str(caught.value).startswith(
        f"cannot serve /metrics at 127.0.0.1:{port} (Address already in use): "
    )
    assert session.listeners == []


def test_without_a_port_nothing_is_served_and_nothing_listens(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pipelines")
    session = Session()
    settings = make_settings(tmp_path, -1)
    with served_metrics([session], settings, STREAMING_JOBS[:1]):
        assert (session.listeners, caplog.records) == ([], [])


def test_each_job_by_itself_has_a_port_behind_the_first(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pipelines")
    first, third = pick_free_pair()
    settings = make_settings(tmp_path, first)
    with served_metrics([Session()], settings, STREAMING_JOBS[2:3], place=2):
        assert find_port(caplog) == third


def pick_free_pair():
    """Return a free port and the one two behind it, which is free as well."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as one:
            first = one.getsockname()[1]
            with (
                contextlib.suppress(OSError),
                socket.create_server(("127.0.0.1", first + 2)),
            ):
                return first, first + 2
