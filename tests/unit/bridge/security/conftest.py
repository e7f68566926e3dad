"""Listeners on loopback with real TLS and SASL; only Kafka's answer is made up."""

import asyncio
import contextlib
import ssl

import pytest

from pipelines.bridge.security.sasl.credentials import make_credential
from tests.support.bridge.certificates import Authority
from tests.unit.bridge.security.loopback import PASSWORD, serving


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def certificate(authority):
    return authority.issue("bridge", "CN=bridge")


@pytest.fixture(scope="session")
def credentials_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("credentials") / "users.jsonl"
    lines = [
        make_credential(
            name="alice",
            password=PASSWORD,
            mechanism=mechanism,
            iterations=4_096,
            salt=b"0123456789ab",
        ).as_line()
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def words(certificate, authority, credentials_path):
    """--set texts: a listener of each kind, by the names of their protocols."""
    files = (
        f'ssl_certificate_location="{certificate.certificate}",'
        f'ssl_key_location="{certificate.key}",ssl_ca_location="{authority.path}"'
    )
    sasl = 'sasl_mechanisms=["PLAIN","SCRAM-SHA-256","SCRAM-SHA-512"]'
    rules = 'ssl_principal_mapping_rules="RULE:^CN=(\\\\w+).*$/$1/L"'
    kinds = {
        "PLAINTEXT": "",
        "SSL": f',{files},ssl_client_auth="requested",{rules}',
        "SASL_PLAINTEXT": f",{sasl}",
        "SASL_SSL": f",{files},{sasl}",
    }
    listeners = ",".join(
        f'{{name="{kind}",port=0,security_protocol="{kind}"{more}}}'
        for kind, more in kinds.items()
    )
    return [
        f"listeners=[{listeners}]",
        f"authentication.credentials_location={credentials_path}",
        "authentication.failed_delay_ms=0",
    ]


@pytest.fixture(name="serving")
def serving_fixture():
    """Serve: `async with serving(words) as (bridge, connect)`."""
    return serving


@pytest.fixture(scope="session")
def until():
    """Wait for what no event tells of: `await until(condition)`."""

    async def wait(condition):
        never = asyncio.Event()
        while not condition():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.005):
                    await never.wait()

    return wait


@pytest.fixture(scope="session")
def trust():
    """Make a client's TLS: trust(authority, files)."""

    def make(authority, files=None):
        context = ssl.create_default_context(cafile=str(authority.path))
        if files is not None:
            context.load_cert_chain(files.certificate, files.key)
        return context

    return make


@pytest.fixture(name="run", params=["asyncio", "uvloop"])
def run_fixture(request):
    """Run one coroutine function, for so long, on each of the loops."""
    factory = None
    if request.param == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop

    def run(test):
        async def limited():
            async with asyncio.timeout(20):
                await test()

        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(limited())

    return run
