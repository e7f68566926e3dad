import contextlib
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bridge.operations.pages import (
    BadHttpRequest,
    HttpRequest,
    Page,
    encode_page,
    make_error_page,
    parse_head,
)

GET = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "path", "is_head"),
    [
        (GET, "/metrics", False),
        (b"HEAD /readyz HTTP/1.0\r\n\r\n", "/readyz", True),
        (b"GET /metrics?name[]=a HTTP/1.1\r\n\r\n", "/metrics", False),
        (b"GET http://h/metrics HTTP/1.1\r\n\r\n", "http://h/metrics", False),
    ],
)
def test_request_line_says_what_is_asked_for(head, path, is_head):
    assert parse_head(head) == HttpRequest(path=path, is_head=is_head)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /me\x00trics HTTP/1.1\r\n\r\n", 400),
        (b"GET /m\xc3\xa9trics HTTP/1.1\r\n\r\n", 400),
        (b"\x00\x00\x00\x10\x00\x12\x00\x00\r\n\r\n", 400),
        (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
        (b"get /metrics HTTP/1.1\r\n\r\n", 405),
        (b"GET /metrics HTTP/2.0\r\n\r\n", 505),
    ],
)
def test_what_is_no_get_has_its_status(head, status):
    with pytest.raises(BadHttpRequest) as caught:
        parse_head(head)
    assert caught.value.status == status


@pytest.mark.parametrize("cut", range(len(GET) - len(b"\r\nHost: a\r\n\r\n")))
def test_request_line_that_is_cut_is_bad(cut):
    with pytest.raises(BadHttpRequest):
        parse_head(GET[:cut])


@given(st.binary(max_size=200))
def test_garbage_raises_nothing_else(head):
    with contextlib.suppress(BadHttpRequest):
        assert isinstance(parse_head(head), HttpRequest)


def test_page_states_its_length_and_the_end_of_the_connection():
    page = Page(status=HTTPStatus.OK, body=b"ok\n")
    head, _, body = encode_page(page).partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    assert b"Content-Length: 3" in head.split(b"\r\n")
    assert b"Connection: close" in head.split(b"\r\n")
    assert body == b"ok\n"
    assert encode_page(page, is_head=True) == head + b"\r\n\r\n"


def test_wrong_method_is_told_the_right_ones():
    page = make_error_page(HTTPStatus.METHOD_NOT_ALLOWED)
    assert b"Allow: GET, HEAD\r\n" in encode_page(page)
    assert page.body == b"405 Method Not Allowed\n"


@pytest.mark.parametrize(
    ("fields", "accept"),
    [
        (b"", ""),
        (b"Accept: text/plain;version=0.0.4\r\n", "text/plain;version=0.0.4"),
        (b"Host: a\r\naccept:a/b \r\nX: y\r\nACCEPT:\tc/d\r\n", "a/b,c/d"),
        (b"X-Accept: a/b\r\nAcceptable: a/b\r\n", ""),
        (b"Accept: a\x00b\r\n", ""),
        (b"Accept: \xc3\xa9\r\n", ""),
    ],
)
def test_what_a_peer_accepts_is_read_where_it_is_printable(fields, accept):
    head = b"GET /metrics HTTP/1.1\r\n" + fields + b"\r\n"
    assert parse_head(head).accept == accept
