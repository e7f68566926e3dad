import urllib.error
import urllib.request

import pytest

from pipelines.errors import InvalidSetting
from pipelines.forwarder.pages import Watch, serve_pages

PREFIX = "kafka_clientele_forwarder"


def read(server, path):
    url = f"http://127.0.0.1:{server.server_address[1]}{path}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


@pytest.fixture
def served():
    watch = Watch(patience_s=60)
    server = serve_pages(watch, "127.0.0.1", 0)
    yield watch, server
    server.shutdown()
    server.server_close()


def test_pages_tell_what_is_so(served):
    watch, server = served
    assert read(server, "/readyz") == (503, "not ready\n")
    watch.is_ready = True
    watch.points.inc(3)
    assert read(server, "/readyz") == (200, "ready\n")
    assert read(server, "/healthz") == (200, "ok\n")
    assert read(server, "/other")[0] == 404
    status, text = read(server, "/metrics")
    assert status == 200
    assert f"{PREFIX}_points_total 3.0" in text
    assert f"{PREFIX}_ready 1.0" in text


def test_a_loop_that_hangs_is_not_healthy():
    watch = Watch(patience_s=0)
    assert watch.answer("/healthz") == (503, b"it hangs\n")


def test_an_address_that_is_taken_is_named(served):
    _, server = served
    port = server.server_address[1]
    with pytest.raises(InvalidSetting, match=f"forward.http_port: 127.0.0.1:{port}"):
        serve_pages(Watch(patience_s=1), "127.0.0.1", port)
