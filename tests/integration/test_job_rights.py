"""A job whose principal lacks something says what, before it has read a record."""

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from pipelines.embedded import EmbeddedKafka
from pipelines.errors import MissingService
from pipelines.settings import load_settings
from pipelines.settings.kafka import spark_source_options
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.positions import read_topic_bounds
from tests.support.clients.java_programs import AUTHORIZER

TOPIC = "client-telemetry"
USERS = {"admin": "admin-password", "job": "job-password"}
SUPER_USERS = {**AUTHORIZER, "super.users": "User:ANONYMOUS;User:admin"}
PATIENCE_S = 60


@pytest.fixture(scope="module")
def kafka(java):
    with EmbeddedKafka(
        java=java,
        security_protocol="SASL_SSL",
        users=USERS,
        broker_properties=SUPER_USERS,
    ) as cluster:
        admin = open_admin(cluster)
        admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(PATIENCE_S)
        yield cluster


def open_admin(cluster):
    return AdminClient(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "admin",
            "sasl.password": USERS["admin"],
            "ssl.ca.location": str(cluster.ca_path),
        }
    )


def read_as_job(spark, kafka, folder, password=USERS["job"]):
    path = folder / "password"
    path.write_text(password)
    words = {
        "bootstrap_servers": kafka.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "job",
        "sasl_password": f"file:{path}",
        "ssl_ca_location": kafka.ca_path,
    }
    given = [f"kafka.{name}={value}" for name, value in words.items()]
    options = spark_source_options(
        load_settings("base", given).kafka, SecretReader(environ={})
    )
    return read_topic_bounds(spark, options, TOPIC)


def test_a_job_without_rights_is_told_which(spark, kafka, tmp_path):
    with pytest.raises(MissingService) as stopped:
        read_as_job(spark, kafka, tmp_path)
    assert str(stopped.value) == (
        f"Kafka at {kafka.bootstrap_servers} refuses the job "
        "(TopicAuthorizationException): its principal needs READ and DESCRIBE on topic "
        f"{TOPIC}; nothing was read, and the same command goes on once it answers"
    )
    binding = AclBinding(
        *(ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL),
        *("User:job", "*", AclOperation.READ, AclPermissionType.ALLOW),
    )
    admin = open_admin(kafka)
    admin.create_acls([binding])[binding].result(PATIENCE_S)
    assert read_as_job(spark, kafka, tmp_path).end == {0: 0}


def test_a_job_with_another_password_is_told_where_to_look(spark, kafka, tmp_path):
    with pytest.raises(MissingService) as stopped:
        read_as_job(spark, kafka, tmp_path, "another-password")
    assert str(stopped.value) == (
        f"Kafka at {kafka.bootstrap_servers} does not let the job log in "
        "(SaslAuthenticationException): check kafka.security_protocol and the sasl_ "
        "and ssl_ keys of [kafka]; nothing was read, and the same command goes on once "
        "it answers"
    )
