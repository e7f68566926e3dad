"""What an application is told, and that its logger cannot break its client."""

import pytest

from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.starting import Prepared, prepare

CONF = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": 100}


class OnlyLogs:
    """All that confluent_kafka asks of a logger; its asyncio clients have no more."""

    def __init__(self):
        self.lines = []

    def log(self, level, text, *words):
        self.lines.append((level, text % words))


class Fails(OnlyLogs):
    """As one whose event loop is closed."""

    def log(self, *_words):
        raise RuntimeError("closed")


@pytest.mark.parametrize("more", [{}, {"security.protocol": "none"}])
def test_a_logger_needs_to_log_and_no_more(more):
    logger = OnlyLogs()
    prepare(PRODUCER, CONF | more, logger=logger)
    ((level, text),) = logger.lines
    assert level == 30
    assert text.startswith("configuration push: ")


@pytest.mark.parametrize("more", [{}, {"security.protocol": "none"}])
@pytest.mark.parametrize("logger", [Fails(), object()])
def test_a_logger_that_fails_breaks_nothing(more, logger):
    prepared = prepare(PRODUCER, CONF | more, logger=logger)
    assert prepared.client_instance_id is None


def test_what_is_prepared_does_not_print_secrets():
    conf = {"sasl.password": "geheim"}
    assert "geheim" not in repr(Prepared(conf=conf, client_instance_id=None))
