"""Telemetry of stock clients comes through the proxy into the table of data points.

tests/long/proxy_client_matrix.py does so with more kinds of clients, and two releases of Java.
"""

import pytest

from pipelines.tables.telemetry import CLIENT_METRICS
from tests.support.clients.client_matrix import count_points, list_clients, push_through
from tests.support.clients.client_site import PROTOCOLS, running_site
from tests.support.jobs.job_support import make_settings, run_once

CLIENTS = list_clients(PROTOCOLS, ["4.3.1"], ["producer", "consumer", "admin"])


@pytest.mark.long
def test_every_stock_client_has_rows_that_say_who_it_is(java, spark, tmp_path):
    with (
        running_site(java, tmp_path, brokers=1) as site,
        (tmp_path / "java.log").open("wb") as log,
    ):
        push_through(java, site, CLIENTS, log)
        settings = make_settings(site.servers, site.topic, tmp_path)
        run_once(spark, settings)
    counted = count_points(spark, settings, CLIENT_METRICS)
    for client in CLIENTS:
        if client.is_silent:
            assert client.client_id not in counted
        else:
            assert list(counted[client.client_id]) == [client.identity]
