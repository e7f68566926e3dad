"""What is served is the newest page, on loopback, to whom asked for loopback."""

import http.client

import pytest

from pipelines.report.serving import PageServer


@pytest.fixture
def server():
    one = PageServer(0)
    one.show("<p>\u00e9", 5)
    yield one
    one.close()


def get(server, path, host=None):
    place = server.address.split("/")[2]
    connection = http.client.HTTPConnection(place, timeout=10)
    connection.request("GET", path, headers={"Host": host or place})
    answer = connection.getresponse()
    said = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return said


def test_the_newest_page_is_served_and_kept_by_nobody(server):
    status, headers, body = get(server, "/")
    assert (status, body) == (200, "<p>\u00e9")
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert get(server, "/made-at")[2] == "5"
    server.show("<p>new", 6)
    assert get(server, "/")[2] == "<p>new"
    assert get(server, "/made-at")[2] == "6"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil:1"]
)
def test_a_name_that_was_pointed_here_gets_nothing(server, host):
    status, _, body = get(server, "/", host)
    assert status == 403
    assert "<p>" not in body or "\u00e9" not in body


@pytest.mark.parametrize("path", ["/../etc/passwd", "/index.html", "/made-at/x"])
def test_there_is_nothing_else(server, path):
    assert get(server, path)[0] == 404
