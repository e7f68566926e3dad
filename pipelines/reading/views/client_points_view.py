"""`client_points`: data points with their meaning, growth and rate."""

from pyspark.sql import DataFrame

from pipelines.reading.points import read_points, with_rates

from .view import Sources, View

CLIENT_POINTS = "client_points"


def _client_points(sources: Sources) -> DataFrame:
    return read_points(sources.spark).transform(with_rates)


VIEW = View(
    name=CLIENT_POINTS,
    row="A data point of `client_metrics` with its meaning: `value` (null for NaN and "
    "infinity), `level` (`client`, `node`, `topic` or `partition`), `at` (the client's "
    "time, or `received_at` if its clock is wrong), `cluster_id`, `client_type`, and "
    "for sums and histograms `amount` (growth), `observations`, `span_s` (seconds in "
    "which it grew) and `rate` (amount per second), for cumulative sums as well. "
    "Filter on `metric`: a filter on `event_date` alone reads cumulative sums of all "
    "dates.",
    sql=_client_points,
    needs=("client_metrics", "client_instances"),
    made_by="client_telemetry_to_delta",
)
