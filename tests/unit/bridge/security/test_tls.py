"""TLS in memory, both sides."""

import ssl

import pytest

from pipelines.bridge.security.tls import (
    BrokenTls,
    InvalidCertificate,
    TlsFiles,
    TlsStream,
    make_context,
)
from tests.support.bridge.certificates import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server_files(authority):
    return authority.issue("server", "CN=bridge")


def tls_files(files, authority, client_auth="none", key_password=""):
    return TlsFiles(
        certificate_location=str(files.certificate),
        key_location=str(files.key),
        key_password=key_password,
        ca_location=str(authority.path),
        client_auth=client_auth,
    )


class Client:
    """OpenSSL's client side, in memory."""

    def __init__(self, authority, files=None, **changes):
        context = ssl.create_default_context(cafile=str(authority.path))
        for name, value in changes.items():
            setattr(context, name, value)
        if files is not None:
            context.load_cert_chain(files.certificate, files.key)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ssl = context.wrap_bio(
            self.incoming, self.outgoing, server_hostname="localhost"
        )

    def step(self):
        try:
            self.ssl.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True


def shake_hands(server, client, *, piece=1_000_000):
    """Run a handshake, in pieces of so many bytes from the client."""
    for _ in range(10):
        is_done = client.step()
        sent = client.outgoing.read()
        for start in range(0, len(sent), piece):
            server.feed(sent[start : start + piece])
            if not server.is_open:
                server.shake_hands()
        client.incoming.write(server.take_outgoing())
        if is_done and server.is_open:
            return
    pytest.fail("no end of the handshake")


@pytest.mark.parametrize("piece", [1, 7, 1_000_000])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_handshake_is_whole_however_it_is_cut(
    authority, server_files, piece, version
):
    server = TlsStream(make_context(tls_files(server_files, authority)))
    client = Client(authority, maximum_version=version)
    shake_hands(server, client, piece=piece)
    client.ssl.write(b"question" * 10_000)
    server.feed(client.outgoing.read())
    assert server.read() == (b"question" * 10_000, False)
    server.write(b"answer")
    client.incoming.write(server.take_outgoing())
    assert client.ssl.read() == b"answer"
    assert server.peer_subject is None


def test_a_handshake_that_ends_anywhere_is_not_open(authority, server_files):
    context = make_context(tls_files(server_files, authority))
    whole = Client(authority)
    whole.step()
    hello = whole.outgoing.read()
    for cut in range(len(hello)):
        server = TlsStream(context)
        server.feed(hello[:cut])
        assert server.shake_hands() is False
        assert not server.is_open


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x20\0\x12\0\x03" + b"\0" * 40, b"\xff" * 600],
    ids=["HTTP", "Kafka", "garbage"],
)
def test_what_is_no_tls_is_the_end(authority, server_files, data):
    server = TlsStream(make_context(tls_files(server_files, authority)))
    server.feed(data)
    with pytest.raises(BrokenTls):
        server.shake_hands()


def test_a_broken_record_is_the_end(authority, server_files):
    server = TlsStream(make_context(tls_files(server_files, authority)))
    client = Client(authority)
    shake_hands(server, client)
    client.ssl.write(b"secret")
    sent = bytearray(client.outgoing.read())
    sent[-1] ^= 1
    server.feed(bytes(sent))
    with pytest.raises(BrokenTls) as raised:
        server.read()
    assert "secret" not in str(raised.value)


def test_a_goodbye_is_heard(authority, server_files):
    server = TlsStream(make_context(tls_files(server_files, authority)))
    client = Client(authority)
    shake_hands(server, client)
    client.ssl.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        client.ssl.unwrap()
    server.feed(client.outgoing.read())
    assert server.read() == (b"last", True)


@pytest.mark.parametrize("old", [ssl.TLSVersion.TLSv1_1])
def test_an_old_version_is_refused(authority, server_files, old):
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        client = Client(
            authority, minimum_version=ssl.TLSVersion.MINIMUM_SUPPORTED,
            maximum_version=old,
        )  # fmt: skip
    server = TlsStream(make_context(tls_files(server_files, authority)))
    with pytest.raises((BrokenTls, ssl.SSLError)):
        shake_hands(server, client)
    assert not server.is_open


def test_a_certificate_is_asked_for_as_the_setting_says(authority, server_files):
    files = authority.issue("client", "CN=Duke,OU=SME")
    for client_auth, shown, is_named in (
        ("none", files, False),
        ("requested", None, False),
        ("requested", files, True),
        ("required", files, True),
    ):
        server = TlsStream(
            make_context(tls_files(server_files, authority, client_auth))
        )
        shake_hands(server, Client(authority, shown))
        assert (server.peer_subject is not None) == is_named


@pytest.mark.parametrize("client_auth", ["requested", "required"])
def test_a_certificate_of_another_authority_is_refused(
    authority, server_files, client_auth, tmp_path
):
    strange = Authority(tmp_path, "stranger").issue("x", "CN=x")
    server = TlsStream(make_context(tls_files(server_files, authority, client_auth)))
    with pytest.raises(BrokenTls, match="CERTIFICATE_VERIFY_FAILED"):
        shake_hands(server, Client(authority, strange))
    assert server.take_outgoing() != b""


def test_a_client_without_a_certificate_is_refused_where_one_is_required(
    authority, server_files
):
    server = TlsStream(make_context(tls_files(server_files, authority, "required")))
    with pytest.raises(BrokenTls, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        shake_hands(server, Client(authority))


def test_a_key_with_a_password_needs_it(authority):
    files = authority.issue("locked", "CN=x", password="hunter2")
    make_context(tls_files(files, authority, key_password="hunter2"))
    for wrong in ("hunter3", ""):
        with pytest.raises(InvalidCertificate) as raised:
            make_context(tls_files(files, authority, key_password=wrong))
        assert "hunter" not in str(raised.value)
        assert str(files.key) in str(raised.value)


@pytest.mark.parametrize(
    "which", ["certificate_location", "key_location", "ca_location"]
)
@pytest.mark.parametrize("content", [None, b"", b"secret rubbish"])
def test_a_file_that_cannot_be_used_is_named(
    authority, server_files, tmp_path, which, content
):
    path = tmp_path / "bad.pem"
    if content is not None:
        path.write_bytes(content)
    files = tls_files(server_files, authority)
    changed = {name: getattr(files, name) for name in TlsFiles.__slots__}
    with pytest.raises(InvalidCertificate, match=r"bad\.pem") as raised:
        make_context(TlsFiles(**changed | {which: str(path)}))
    assert "secret" not in str(raised.value)


def test_the_key_of_another_certificate_is_refused(authority, server_files):
    other = authority.issue("other", "CN=other")
    mixed = type(other)(server_files.certificate, other.key)
    with pytest.raises(InvalidCertificate, match="MISMATCH"):
        make_context(tls_files(mixed, authority))
