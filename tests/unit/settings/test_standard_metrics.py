"""The proposal's tables of metrics, and a file that is none."""

import csv
from pathlib import Path

import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import CONF_PATH
from pipelines.settings.standard_metrics import FILE_NAME, load_standard_metrics

GOLDEN = CONF_PATH.parent / "tests" / "golden" / "telemetry"


def test_the_proposal_has_8_of_producers_and_13_of_consumers():
    found = load_standard_metrics()
    types = [one.client_type for one in found]
    assert {name: types.count(name) for name in types} == {
        "producer": 8,
        "consumer": 13,
    }
    for one in found:
        assert one.metric.startswith(f"org.apache.kafka.{one.client_type}.")
        assert (one.label == "node_id") == (".node." in one.metric)
        assert (one.kind == "sum") == one.metric.endswith(".total")


def test_of_each_client_type_the_same_three_are_required():
    required = {
        one.metric.removeprefix(f"org.apache.kafka.{one.client_type}.")
        for one in load_standard_metrics()
        if one.is_required
    }
    assert required == {
        "connection.creation.total",
        "node.request.latency.avg",
        "node.request.latency.max",
    }
    assert sum(one.is_required for one in load_standard_metrics()) == 6


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_real_clients_have_all_of_them_as_the_file_says(client):
    seen = {}
    for client_type in ("producer", "consumer"):
        path = GOLDEN / f"{client}_{client_type}_metrics.csv"
        with Path(path).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                seen[row["metric"]] = (row["otlp_type"], bool(row["attributes"]))
    for one in load_standard_metrics():
        assert seen[one.metric] == (one.kind, one.label is not None)


HEAD = "client_type,metric,kind,label,is_required\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name\nx\n", "has other columns"),
        (f"{HEAD}producer,a.b,counter,,true\n", "line 2: kind 'counter'"),
        (f"{HEAD}producer,a.b,sum,,yes\n", "line 2: is_required 'yes'"),
        (f"{HEAD}producer,a.b';,sum,,true\n", "line 2: metric"),
        (f"{HEAD}producer,a.b,sum\n", "line 2: label None|line 2: is_required None"),
        (f"{HEAD}p,a,sum,,true\np,a,gauge,,true\n", "line 3: a is there twice"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path, text, reason):
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSetting, match=reason):
        load_standard_metrics(tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidSetting, match=rf"conf/{FILE_NAME}: cannot be read"):
        load_standard_metrics(tmp_path)
