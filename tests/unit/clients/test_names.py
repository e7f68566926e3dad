"""The names that an application finds here are those of confluent_kafka."""

import confluent_kafka
from confluent_kafka.error import ConsumeError
from confluent_kafka.serialization import StringSerializer

from pipelines import clients


def test_all_else_of_confluent_kafka_is_there():
    names = set(confluent_kafka.__all__)
    assert names <= set(dir(clients))
    assert clients.KafkaError is confluent_kafka.KafkaError
    assert clients.admin.NewTopic is not None
    assert clients.admin.AdminClient.__module__ == "pipelines.clients.admin_clients"
    assert clients.aio.AIOProducer.__module__ == "pipelines.clients.aio"


def test_each_name_of_confluent_kafka_is_there():
    """But what is its own: private names, its compiled part, a module that it needs."""
    public = {name for name in vars(confluent_kafka) if not name.startswith("_")}
    assert (public | {"__version__"}) - {"cimpl", "os"} <= set(vars(clients))


def test_a_star_brings_what_that_of_confluent_kafka_brings():
    """And shadows nothing else of an application."""
    theirs, ours = {}, {}
    exec("from confluent_kafka import *", theirs)  # noqa: S102 - a star it is
    exec("from pipelines.clients import *", ours)  # noqa: S102 - a star it is
    assert set(ours) == set(theirs)
    assert ours["Producer"] is clients.Producer
    assert ours["admin"] is clients.admin


def test_the_modules_that_applications_import_are_there():
    assert clients.serialization.StringSerializer is StringSerializer
    assert clients.error.ConsumeError is ConsumeError
    modules = (
        clients.serializing_producer.SerializingProducer,
        clients.deserializing_consumer.DeserializingConsumer,
        clients.deserializing_share_consumer.DeserializingShareConsumer,
    )
    assert all(hasattr(kind, "client_instance_id") for kind in modules)
