"""Whom an operator asks for what is said in the cluster that the clients use."""

import asyncio
import contextlib
import logging
import uuid

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.response import (
    GetTelemetrySubscriptionsResponse,
)
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.incremental_alter_configs.v1.response import (
    IncrementalAlterConfigsResponse,
)
from kio.serial import entity_reader

from pipelines.bridge.cluster import following
from pipelines.embedded import EmbeddedKafka
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    ask_in_bytes,
    find_servers,
    proxy_settings,
)
from tests.support.clients.java_programs import AUTHORIZER
from tests.support.kafka.kafka_commands import configure

CLIENT_METRICS, SET, DELETE = 16, 0, 1
OWN = 'subscriptions=[{name="own",metrics=["own."],interval_ms=300,match=[]}]'
ANYBODY = AUTHORIZER | {
    "super.users": "User:nobody", "allow.everyone.if.no.acl.found": "true",
}  # fmt: skip


@pytest.fixture(scope="module")
def upstream(java):
    """The clients' cluster, which keeps ACLs and has none."""
    with EmbeddedKafka(java=java, broker_properties=ANYBODY) as cluster:
        yield cluster


@pytest.fixture
def settings(kafka, upstream):
    return proxy_settings(
        kafka,
        f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
        "bridge.admin_principals=['User:ANONYMOUS']",
        "bridge.subscriptions_poll_ms=100",
        OWN,
    )


def change(servers, name, operation=SET):
    """Set a subscription that asks for metrics of its name, or take it away."""

    async def ask():
        access = read_access(
            {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
        )
        client = ClusterClient(access, client_id="test")
        one = AlterableConfig(
            name="metrics",
            config_operation=operation,
            value=f"{name}." if operation == SET else None,
        )
        request = IncrementalAlterConfigsRequest(
            resources=(
                AlterConfigsResource(
                    resource_type=CLIENT_METRICS, resource_name=name, configs=(one,)
                ),
            ),
            validate_only=False,
        )
        answer = await client.ask(request, IncrementalAlterConfigsResponse)
        await client.close()
        return answer.responses[0].error_code

    assert asyncio.run(ask()) is ErrorCode.none


@contextlib.contextmanager
def subscription(servers, name):
    """Have one for a while: others use the cluster, too."""
    change(servers, name)
    try:
        yield
    finally:
        change(servers, name, DELETE)


def ask_for_metrics(servers):
    """Return the metrics that a new client is asked for."""
    (answer,) = ask_in_bytes(servers, (71, 0, b"\0" + bytes(16) + b"\0"))
    # Behind the correlation id and no tags.
    response, _ = entity_reader(GetTelemetrySubscriptionsResponse)(answer[5:], 0)
    return set(response.requested_metrics)


def test_only_what_the_clients_own_cluster_says_reaches_them(
    java, kafka, upstream, settings, wait_until
):
    foreign, direct, passed, relayed = (f"{one}-{uuid.uuid4()}" for one in "fdpr")
    with (
        subscription(kafka.bootstrap_servers, foreign),
        subscription(upstream.bootstrap_servers, direct),
        running_bridge(settings) as (server, endpoint),
    ):
        proxy = find_servers(server)
        # By the bridge's own rights, and by Kafka's own tool through the proxy.
        change(endpoint, passed)
        add = ("--alter", "--entity-name", relayed, "--add-config")
        code, output = configure(java, proxy, *add, f"metrics=[{relayed}.]")
        assert code == 0, output
        wanted = {"own.", *(f"{one}." for one in (direct, passed, relayed))}
        wait_until(lambda: ask_for_metrics(proxy) == wanted)
        assert ask_for_metrics(endpoint) == wanted
        for servers, names in (
            (upstream.bootstrap_servers, {direct, passed, relayed}),
            (kafka.bootstrap_servers, {foreign}),
        ):
            _, output = configure(java, servers, "--describe")
            every = (foreign, direct, passed, relayed)
            assert {one for one in every if one in output} == names
        change(endpoint, passed, DELETE)
        change(proxy, relayed, DELETE)
        wait_until(lambda: ask_for_metrics(proxy) == {"own.", f"{direct}."})


def make_acl(kind, principal, operation, permission):
    cluster = ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL
    return kind(*cluster, principal, "*", operation, permission)


def test_without_rights_there_conf_counts_and_the_log_says_so_once(
    upstream, settings, wait_until, caplog
):
    admin = AdminClient({"bootstrap.servers": upstream.bootstrap_servers})
    rights = [
        make_acl(AclBinding, "User:*", AclOperation.ALL, AclPermissionType.ALLOW),
        make_acl(
            AclBinding, "User:ANONYMOUS", AclOperation.DESCRIBE_CONFIGS,
            AclPermissionType.DENY,
        ),
    ]  # fmt: skip
    name = f"s-{uuid.uuid4()}"
    with subscription(upstream.bootstrap_servers, name):
        # The first one alone locks nobody out.
        for one in rights:
            admin.create_acls([one])[one].result(PATIENCE_S)
        with running_bridge(settings) as (server, _endpoint):
            proxy = find_servers(server)
            assert ask_for_metrics(proxy) == {"own."}
            denial = make_acl(
                AclBindingFilter, "User:ANONYMOUS", AclOperation.DESCRIBE_CONFIGS,
                AclPermissionType.DENY,
            )  # fmt: skip
            admin.delete_acls([denial])[denial].result(PATIENCE_S)
            wait_until(lambda: ask_for_metrics(proxy) == {"own.", f"{name}."})
    said = [
        one.getMessage()
        for one in caplog.records
        if one.name == following.__name__ and one.levelno >= logging.WARNING
    ]
    (warning,) = said
    assert warning.startswith("only the subscriptions of conf/ count: ")
    assert "[upstream]" in warning
    assert "DESCRIBE_CONFIGS on the cluster" in warning
