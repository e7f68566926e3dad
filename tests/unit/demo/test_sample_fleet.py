"""The plan of the sample fleet, and the values that its instances report."""

from datetime import UTC, datetime

import numpy as np
import pytest

from pipelines.demo.sample_crowd import list_instances
from pipelines.demo.sample_fleet import SampleFleet
from pipelines.demo.sample_series import PREFIX, list_series
from pipelines.demo.sample_signals import Signals
from pipelines.settings.metric_semantics import load_metric_semantics
from tests.support.jobs.called_main import call_main

UNTIL = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = 3


def plan(clients=60, **fields):
    return SampleFleet(clients=clients, hours=HOURS, until=UNTIL, **fields)


def series_of(client_id, fleet=None):
    """Return the series of the first instance of a client, by metric."""
    instances = list_instances(fleet or plan())
    one = next(each for each in instances if each.client_id == client_id)
    signals = Signals(one, one.push_times(), 7)
    client_level = (
        (each.key.metric, each)
        for each in list_series(signals)
        if (each.key.node, each.key.topic) == (None, None)
    )
    return signals, dict(client_level)


def test_list_instances_same_seed_returns_same_fleet():
    assert list_instances(plan()) == list_instances(plan())
    assert list_instances(plan()) != list_instances(plan(seed=8))


@pytest.mark.parametrize("clients", [60, 500])
def test_list_instances_returns_requested_number_of_clients(clients):
    instances = list_instances(plan(clients))
    assert len({one.client for one in instances}) == clients
    assert [one.number for one in instances] == [*range(1, len(instances) + 1)]
    assert {one.family for one in instances} == {"java", "librdkafka", "franz_go"}


def test_list_pushes_shortened_interval_changes_from_five_minutes_to_one():
    signals, _ = series_of("steady")
    assert {*signals.spans.tolist()} == {300.0, 60.0}


def test_list_series_steady_client_reports_ten_records_per_second():
    signals, series = series_of("steady")
    sent = series["producer.record.send.total"].values
    assert np.allclose(sent / signals.spans, 10.0)
    assert np.allclose(series["producer.record.send.rate"].values, 10.0)


def test_list_series_idle_families_report_nan_or_omit_zeros():
    throttle = "producer.produce.throttle.time.avg"
    _, java = series_of("was-throttled-java")
    _, franz_go = series_of("was-throttled")
    assert np.isnan(java[throttle].values[-1])
    assert 80.0 in java[throttle].values
    assert not franz_go[throttle].is_there[-1]
    assert franz_go[throttle].is_there.any()


def test_list_series_cumulative_sum_restarts_after_reset():
    _, series = series_of("cumulative")
    retries = series["producer.record.retry.total"].values
    assert (np.diff(retries) < 0).sum() == 1


def signals_of(client_id, fleet=None):
    """Return the signals of all instances of a client."""
    return [
        Signals(one, one.push_times(), 7)
        for one in list_instances(fleet or plan())
        if one.client_id == client_id
    ]


def test_rebalances_members_of_a_group_have_them_together():
    one, other, _ = signals_of("restless")
    assert np.array_equal(one.rebalances, other.rebalances)
    assert abs(one.rebalances.sum() - 12 * HOURS) <= 1


def test_events_of_different_instances_are_at_different_times():
    long = SampleFleet(clients=60, hours=48, until=UNTIL)
    times = [
        tuple(np.flatnonzero(each.events(0.5))) for each in signals_of("billing", long)
    ]
    assert len({*times}) == len(times)


def test_latency_varies_and_longest_is_above_mean():
    (signals,) = signals_of("clicks")
    for broker, mean_ms in signals.latency_ms.items():
        assert len({*mean_ms.tolist()}) == signals.count
        assert (signals.longest_ms[broker] > mean_ms).all()


def test_list_series_every_metric_exists_in_its_family_at_its_level():
    known = {(one.metric, one.kind): one for one in load_metric_semantics()}
    for one in list_instances(plan(200)):
        if not one.has_telemetry:
            continue
        for key in (
            each.key for each in list_series(Signals(one, one.push_times(), 7))
        ):
            level = (
                ("partition" if key.partition is not None else "topic")
                if key.topic
                else ("node" if key.node else "client")
            )
            meaning = known[PREFIX + key.metric, key.kind]
            assert getattr(meaning, one.family) != "never", key
            assert level in meaning.levels, key


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--hours", "2"), "--hours and --until go with --sample"),
        (("--sample", "--keep"), "--sample starts no client"),
        (("--sample", "--hours", "0.01"), "expected a number from 0.1 to 720"),
        (("--sample", "--hours", "nan"), "expected a number from 0.1 to 720"),
        (("--clients", "1000"), "--clients: without --sample at most 200"),
    ],
)
def test_demo_options_that_conflict_with_sample_are_refused(capsys, words, message):
    code, printed, error = call_main(capsys, "demo", *words)
    assert (code, printed) == (2, "")
    assert message in error
