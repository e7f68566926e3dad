"""Histograms, exponential histograms and summaries."""

import pytest

from tests.unit.udfs.otlp.test_points import only_point, push_of


def only_distribution(kind, **point):
    row = only_point(push_of(kind, **point))
    assert (row["value_double"], row["value_long"]) == (None, None)
    return row["distribution"], row["point_error"]


def test_a_histogram_is_a_distribution():
    found, error = only_distribution(
        "histogram",
        count=3,
        sum=4.5,
        explicit_bounds=[1.0, 2.0],
        bucket_counts=[1, 2, 0],
    )
    sent = {name: value for name, value in found.items() if value is not None}
    assert sent == {
        "count": 3,
        "sum": 4.5,
        "explicit_bounds": [1.0, 2.0],
        "bucket_counts": [1, 2, 0],
    }
    assert error is None


def test_an_exponential_histogram_is_a_distribution():
    metrics_data = push_of(
        "exponential_histogram", count=9, min=-1.0, max=0.0, scale=-3, zero_count=2
    )
    data = metrics_data.resource_metrics[0].scope_metrics[0].metrics[0]
    point = data.exponential_histogram.data_points[0]
    point.zero_threshold = 0.25
    point.positive.offset = -2
    point.positive.bucket_counts.extend([1, 300, 2**63 - 1])
    found = only_point(metrics_data)["distribution"]
    sent = {name: value for name, value in found.items() if value is not None}
    assert sent == {
        "count": 9,
        "min": -1.0,
        "max": 0.0,
        "scale": -3,
        "zero_count": 2,
        "zero_threshold": 0.25,
        "positive_offset": -2,
        "positive_bucket_counts": [1, 300, 2**63 - 1],
    }


def test_a_summary_is_a_distribution():
    metrics_data = push_of("summary", count=1)
    data = metrics_data.resource_metrics[0].scope_metrics[0].metrics[0].summary
    data.data_points[0].quantile_values.add(quantile=0.5, value=7.0)
    found = only_point(metrics_data)["distribution"]
    sent = {name: value for name, value in found.items() if value is not None}
    quantiles = [{"quantile": 0.5, "value": 7.0}]
    assert sent == {"count": 1, "sum": 0.0, "quantiles": quantiles}


@pytest.mark.parametrize(
    ("kind", "sent", "field", "stored"),
    [
        ("histogram", {"count": 2**63}, "count", None),
        ("summary", {"count": 2**64 - 1}, "count", None),
        ("histogram", {"bucket_counts": [1, 2**63]}, "bucket_counts", [1, None]),
        ("exponential_histogram", {"zero_count": 2**63}, "zero_count", None),
        ("histogram", {"count": 2**63 - 1}, "count", 2**63 - 1),
    ],
)
def test_a_count_beyond_int64_is_null_and_named(kind, sent, field, stored):
    found, error = only_distribution(kind, **sent)
    assert found[field] == stored
    is_beyond = stored is None or stored == [1, None]
    assert error == ("count_out_of_range" if is_beyond else None)


def test_time_out_of_range_comes_before_count_out_of_range():
    row = only_point(push_of("histogram", count=2**63, time_unix_nano=2**63))
    assert row["point_error"] == "time_out_of_range"
