"""A token is there before Java asks for one: what is wrong with it is one sentence.

Java tells of a token endpoint by the names of its classes alone, after it has tried for
a while. What a Java client of Kafka 4 may ask is a property of its JVM.
"""

from pyspark.sql import SparkSession

from pipelines.errors import InvalidSetting, MissingService
from pipelines.kafka_client.faults import NoToken, Refused
from pipelines.kafka_client.properties import Access, UnusableConfig, make_access
from pipelines.settings.kafka import publisher_config, spark_source_options
from pipelines.settings.kafka_settings import KafkaSettings
from pipelines.settings.listener_records import OAUTHBEARER
from pipelines.settings.secret_references import SecretReader

from .positions import allow_token_endpoint, find_client_package

_ANSWER_TIMEOUT_S = 10.0


def read_source_options(
    spark: SparkSession, kafka: KafkaSettings, secrets: SecretReader
) -> dict[str, str]:
    """Return the connection options of Spark's Kafka source, once a login can work.

    Raises: MissingService, InvalidSetting, UnresolvedSecret.
    """
    check_token(spark, kafka, secrets)
    return spark_source_options(kafka, secrets, package=find_client_package(spark))


def check_token(
    spark: SparkSession, kafka: KafkaSettings, secrets: SecretReader
) -> None:
    """Ask the token endpoint of [kafka], where it has one, and let Java ask it.

    Executors are JVMs of their own: docs/guide/listeners-and-login.md says what those
    of a cluster need.

    Raises: MissingService, InvalidSetting, UnresolvedSecret.
    """
    is_needed = kafka.security_protocol.startswith("SASL_")
    if not is_needed or kafka.sasl_mechanism != OAUTHBEARER:
        return
    access = _read_access(kafka, secrets)
    try:
        if access.login is not None and access.login.prepare is not None:
            access.login.prepare(_ANSWER_TIMEOUT_S)
    except (NoToken, Refused) as error:
        raise MissingService(
            f"there is no login to Kafka at {access.place}: {error}; nothing was read, "
            f"and the same command goes on once the sasl_oauthbearer_ keys of [kafka] "
            f"and that endpoint give a token"
        ) from None
    allow_token_endpoint(spark, kafka.sasl_oauthbearer_token_endpoint_url)


def _read_access(kafka: KafkaSettings, secrets: SecretReader) -> Access:
    try:
        return make_access(publisher_config(kafka, secrets).get)
    except UnusableConfig as error:
        raise InvalidSetting(
            f"kafka.{error.name.replace('.', '_')}: {error.why}"
        ) from None
