"""Clients of Apache Kafka's own library prove who they are, again and again."""

import asyncio
import contextlib
import subprocess
import uuid
from functools import partial

import pytest

from pipelines.embedded.installation import JARS_PATH
from tests.support.bridge.secured_bridge import PASSWORD, Site, serving, wait_for_pushes
from tests.support.clients.java_clients import PROGRAMS_PATH
from tests.support.kafka.kafka_commands import SHORT_LIVED

PROGRAM = PROGRAMS_PATH / "PushAs.java"
MODULES = "org.apache.kafka.common.security"
PRINCIPALS = {
    "java-plain": "User:alice",
    "java-scram256": "User:alice",
    "java-scram512": "User:alice",
    "java-oauth": "User:service-2",
    "java-mtls": "User:Duke",
}


@pytest.fixture(scope="module")
def compiling_java(java):
    """A Java that runs a source file."""
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the clients come as source")
    return java


def log_in(module, mechanism):
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{MODULES}.{module} required username="alice" '
        f'password="{PASSWORD}";',
    }


def client_configs(site):
    """Return protocol and properties of each client, by its client id."""
    duke = site.authority.issue("duke", "CN=Duke,OU=SME")
    keystore = site.folder / "duke-all.pem"
    keystore.write_bytes(duke.key.read_bytes() + duke.certificate.read_bytes())
    tls = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": site.authority.path,
    }
    oauth = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.login.callback.handler.class": f"{MODULES}.oauthbearer."
        "OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": (site.folder / "token").as_uri(),
    }
    mtls = {"ssl.keystore.type": "PEM", "ssl.keystore.location": keystore}
    plain, scram = "plain.PlainLoginModule", "scram.ScramLoginModule"
    return {
        "java-plain": ("SASL_PLAINTEXT", log_in(plain, "PLAIN")),
        "java-scram256": ("SASL_SSL", tls | log_in(scram, "SCRAM-SHA-256")),
        "java-scram512": ("SASL_SSL", tls | log_in(scram, "SCRAM-SHA-512")),
        "java-oauth": ("SASL_SSL", tls | oauth),
        "java-mtls": ("SSL", tls | mtls),
    }


def escape(value):
    """Write a value as java.util.Properties reads it."""
    plain = str(value).replace("\\", "\\\\")
    return "".join(one if one.isascii() else f"\\u{ord(one):04x}" for one in plain)


def write_properties(site, server):
    paths = []
    for client_id, (protocol, more) in client_configs(site).items():
        values = {
            "bootstrap.servers": f"localhost:{server.endpoints[protocol][1]}",
            "security.protocol": protocol,
            "client.id": client_id,
            **more,
        }
        path = site.folder / f"{client_id}.properties"
        lines = [f"{name}={escape(value)}\n" for name, value in values.items()]
        path.write_text("".join(lines), encoding="ascii")
        paths.append(str(path))
    return paths


@contextlib.asynccontextmanager
async def java_clients(java, site, files):
    """Run a Java producer for each file; they close in order at the end."""
    token = (site.folder / "token").as_uri()
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={token}"
    with (site.folder / "java.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(java, *SHORT_LIVED, allowed, "-cp", f"{JARS_PATH}/*", str(PROGRAM)),
            *files,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )
    try:
        yield
        await process.communicate(b"\n")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def test_java_clients_prove_who_they_are_and_do_so_again(
    kafka, compiling_java, tmp_path, wait_until
):
    topic, site = f"telemetry-{uuid.uuid4()}", Site(tmp_path)
    (tmp_path / "token").write_text(site.make_token("service-2")[0])
    short = "authentication.max_reauth_ms=3000"

    async def run():
        async with serving(site.settings(kafka, topic, short)) as server:
            files = write_properties(site, server)
            async with java_clients(compiling_java, site, files):
                wait = partial(wait_for_pushes, kafka, topic, PRINCIPALS)
                seen = await asyncio.to_thread(wait)
                counters = server.counters
                first = counters.authentications
                opened = counters.connections
                await asyncio.to_thread(
                    wait_until, lambda: counters.authentications >= first + 8
                )
                # On the connections that they have: each pushes twice a second.
                assert counters.connections == opened
                assert counters.failed_authentications == 0
                return seen

    seen = asyncio.run(run())
    for client_id, principal in PRINCIPALS.items():
        assert seen[client_id]["principal"] == principal, client_id
        assert seen[client_id]["client_software_name"] == "apache-kafka-java"
