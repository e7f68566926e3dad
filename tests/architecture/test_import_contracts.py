"""Each import contract fails when it is broken; run.sh checks that they hold."""

from copy import deepcopy

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

from pipelines.settings import CONF_PATH

KINDS = {
    "forbidden": ForbiddenContract,
    "independence": IndependenceContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}
B = "pipelines.bridge"
K = "pipelines.kafka_client"
# Beginning of the contract's name, who imports, and what may not be imported there.
READER = "pipelines.reading.views.session_views"
BREAKS = [
    ("kernels are free of Spark", "udfs.compression.codecs", "os"),
    ("kernels are free of Spark", "udfs.compression.codecs", "pyspark"),
    ("every room of kernels", "udfs.otlp.walk", "udfs.envelopes.readers"),
    ("every room of kernels", "udfs.text_codes", "udfs.sensitive.typed_values"),
    ("every room stands", "pipelines.delta_tables.erase", "pipelines.jobs.purge.job"),
    ("every room stands", "pipelines.tables.contract", f"{B}.server"),
    ("the client of Kafka needs", f"{K}.session", "kio"),
    ("both links to Kafka", f"{K}.async_link", f"{K}.blocking_link"),
    ("both links to Kafka", f"{K}.login", f"{K}.session"),
    ("protocol and decision modules", f"{K}.session", "time"),
    ("protocol and decision modules", f"{K}.login", "secrets"),
    ("only jobs use the Spark wrappers", READER, "udfs.spark"),
    ("only jobs, and the function of SQL", READER, "udfs.spark_quotas"),
    ("readers ask kernels by", READER, "udfs.spark_functions"),
    ("readers match selectors", READER, "udfs.spark_subscriptions"),
    ("only the room of tables knows", READER, "delta"),
    ("settings need the standard", "pipelines.settings.loading", "pyspark"),
    ("contracts of tables need", "pipelines.tables.contract", "udfs.text_codes"),
    ("steps and questions know", "pipelines.jobs.replay.steps", "udfs.text_codes"),
    ("steps and questions know", "pipelines.jobs.replay.steps", "time"),
    ("folds of states are pure", "pipelines.jobs.configs.folds.current", "pyspark"),
    (
        "the report, findings and people's commands",
        "pipelines.report.collecting",
        "pipelines.tables.telemetry",
    ),
    ("checks ask tables", "pipelines.quality.frames", "confluent_kafka"),
    ("checks ask tables", "pipelines.quality.check", "pipelines.streaming.offsets"),
    ("rules are asked of tables", "pipelines.findings.silencing", "confluent_kafka"),
    ("one room knows great-expectations", READER, "great_expectations"),
    ("the report asks tables", "pipelines.report.collecting", "confluent_kafka"),
    ("the page is made of plain rows", "pipelines.report.page", "pyspark"),
    ("one room knows what pages are made with", READER, "jinja2"),
    ("suites are data", "pipelines.quality.suites", "pyspark"),
    ("questions are answered", READER, "delta"),
    ("every room of the bridge", f"{B}.core.records", f"{B}.telemetry.rules"),
    ("every room of the bridge", f"{B}.telemetry.rules", f"{B}.security.tls"),
    ("the proxy's sockets stand", f"{B}.proxy.frames.line", f"{B}.proxy.rules.plan"),
    ("the bridge and the feed", f"{B}.server", "udfs.spark"),
    ("protocol and decision modules", f"{B}.protocol.metadata", "socket"),
    ("protocol and decision modules", f"{B}.core.handlers", "logging"),
    ("protocol and decision modules", f"{B}.quotas.rates", "time"),
    ("protocol and decision modules", f"{B}.telemetry.rules", "time"),
    ("protocol and decision modules", f"{B}.push_config.rules", "importlib"),
    ("protocol and decision modules", f"{B}.push_config.part", "time"),
    ("protocol and decision modules", f"{B}.dynamic_configs.state", "asyncio"),
    ("who a peer is", f"{B}.security.tls", "socket"),
    ("protocol and decision modules", f"{B}.security.sasl.tokens", "time"),
    ("the cluster is asked", f"{B}.cluster.following", "socket"),
    ("the bridge and the feed", "pipelines.feed.part", "pyspark"),
    ("protocol and decision modules", "pipelines.feed.observed", "asyncio"),
    ("messages and answers of a cluster", "pipelines.kafka_wire.client", "socket"),
    ("protocol and decision modules", "pipelines.kafka_wire.entities", "asyncio"),
    ("records are published", f"{B}.publishing.publisher", f"{B}.telemetry.rules"),
    ("sockets do not know", f"{B}.front.transport", f"{B}.telemetry.handlers"),
    ("sockets do not know", f"{B}.front.admission", "ssl"),
    ("what operators see is read", f"{B}.operations.watch", "confluent_kafka"),
    ("protocol and decision modules", f"{B}.proxy.rules.plan", "asyncio"),
    ("the proxy's sockets take", f"{B}.proxy.relay.pairs", "time"),
    ("what speaks to a cluster", "pipelines.commands.java.command_config", "pyspark"),
    ("who watches a site", "pipelines.watching.looking", "pyspark"),
    ("who watches a site", "pipelines.watching.topics", "logging"),
    (
        "what is not well follows",
        "pipelines.watching.checkpoints",
        "pipelines.watching.delta_logs",
    ),
    ("the forwarder needs", "pipelines.forwarder.sums", "pyspark"),
    ("what is not well is decided", "pipelines.watching.judging", "time"),
    ("one file reads tables", "pipelines.watching.looking", "deltalake"),
    ("one room of the product", READER, "confluent_kafka"),
    ("the client library is", "pipelines.clients.handshake", "pipelines.errors"),
    ("the client library is", "pipelines.clients.handshake", f"{K}.faults"),
    ("only demo, push command", READER, "pipelines.clients.pushing"),
    ("the embedded Kafka stands alone", "pipelines.embedded.ports", "kio"),
    (
        "only the demo and the command start",
        READER,
        "pipelines.embedded.ports",
    ),
    (
        "jobs never import each other",
        "pipelines.jobs.maintain.job",
        "pipelines.jobs.replay.job",
    ),
]


@pytest.fixture(scope="module")
def configuration():
    return read_configuration(str(CONF_PATH.parent / "setup.cfg"))


@pytest.fixture(scope="module")
def graph():
    """Return what imports what; made once, for a tool of its own takes seconds."""
    return grimp.build_graph(
        *("pipelines", "udfs"), include_external_packages=True, cache_dir=None
    )


def make_contracts(configuration):
    return [
        KINDS[options["type"]](
            options["name"], configuration["session_options"], options
        )
        for options in configuration["contracts_options"]
    ]


@pytest.mark.parametrize(("name", "importer", "imported"), BREAKS)
def test_a_contract_fails_when_it_is_broken(
    configuration, graph, name, importer, imported
):
    [contract] = [
        one for one in make_contracts(configuration) if one.name.startswith(name)
    ]
    broken = deepcopy(graph)
    assert importer in broken.modules
    if imported not in broken.modules:
        broken.add_module(imported, is_squashed=True)
    broken.add_import(importer=importer, imported=imported)
    assert not contract.check(broken, verbose=False).kept


def test_each_contract_is_broken_here(configuration):
    names = [contract.name for contract in make_contracts(configuration)]
    broken = [name for name, _, _ in BREAKS]
    assert [n for n in names if not any(n.startswith(b) for b in broken)] == []
