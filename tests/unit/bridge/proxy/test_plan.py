import pytest

from pipelines.bridge.proxy.rules.brokers import KnownBroker
from pipelines.bridge.proxy.rules.plan import plan_proxy
from pipelines.errors import InvalidSetting, MissingService
from pipelines.settings import load_settings


def plan(*changes):
    return plan_proxy(load_settings("base", ["proxy.enabled=true", *changes]))


def test_a_port_is_the_base_and_the_node_id_unless_it_is_named():
    made = plan("proxy.base_port=9000", 'proxy.ports={ "7" = "19100" }')
    assert [made.port_of(node_id) for node_id in (1, 7)] == [9001, 19100]
    assert [plan("proxy.base_port=0").port_of(node_id) for node_id in (0, 1)] == [0, 0]


def test_the_base_port_is_for_all_brokers_and_broker_0_has_the_one_before():
    made = plan("proxy.base_port=9000", "proxy.advertised_host=kafka.example.org")
    assert made.port_of(0) == 8_999
    assert made.bootstrap_servers(9_000) == "kafka.example.org:9000"
    assert plan("proxy.listen_host=::1").bootstrap_servers(9_292) == "[::1]:9292"


def test_the_cluster_is_that_of_kafka_unless_it_is_named():
    assert plan().cluster.section == "kafka"
    made = plan("upstream.bootstrap_servers=broker:9092")
    assert made.cluster.section == "upstream"
    assert made.cluster.settings.bootstrap_servers == "broker:9092"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        (["proxy.listen_host=0.0.0.0"], "proxy.advertised_host"),
        (['proxy.ports={ "x" = "1" }'], "proxy.ports"),
        (['proxy.ports={ "7" = "70000" }'], "proxy.ports.7"),
        (['proxy.ports={ "7" = "71", "8" = "71" }'], "proxy.ports.8"),
        (["proxy.base_port=0", "bridge.workers=2"], "proxy.base_port"),
        (["proxy.base_port=1"], "proxy.base_port"),
        (["proxy.base_port=71", 'proxy.ports={ "0" = "71" }'], "proxy.ports.0"),
        (['proxy.proxy_protocol_networks=["x"]'], "proxy.proxy_protocol_networks"),
        (["proxy.ssl_certificate_location=c"], "proxy.ssl_key_location"),
        (["proxy.ssl_principal_mapping_rules=X"], "proxy.ssl_principal_mapping_rules"),
        (["proxy.ssl_client_auth=required"], "proxy.ssl_ca_location"),
        (
            ["proxy.ssl_client_auth=required", "proxy.ssl_ca_location=a"],
            "proxy.ssl_certificate_location",
        ),
        (
            [
                "upstream.bootstrap_servers=b:1",
                "upstream.security_protocol=SSL",
                "upstream.ssl_certificate_location=c",
            ],
            "proxy.upstream_identity",
        ),
        (
            [
                "proxy.ssl_client_auth=requested",
                "proxy.ssl_ca_location=a",
                "proxy.ssl_certificate_location=c",
                "proxy.ssl_key_location=k",
            ],
            "proxy.upstream_identity",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_key(changes, key):
    with pytest.raises(InvalidSetting, match=f"^{key}: "):
        plan(*changes)


SASL_SSL = ("upstream.bootstrap_servers=b:1", "upstream.security_protocol=SASL_SSL")
TLS = ("proxy.ssl_certificate_location=c", "proxy.ssl_key_location=k")


def test_proxy_without_tls_before_a_cluster_with_sasl_ssl_is_refused():
    with pytest.raises(
        InvalidSetting, match=r"^proxy\.allow_plaintext_sasl: "
    ) as error:
        plan(*SASL_SSL)
    for key in ("upstream.security_protocol", "proxy.ssl_certificate_location"):
        assert key in str(error.value)
    with pytest.raises(InvalidSetting, match=r"kafka\.security_protocol is SASL_SSL"):
        plan("kafka.security_protocol=SASL_SSL")


@pytest.mark.parametrize(
    "changes",
    [
        (*SASL_SSL, *TLS),
        (*SASL_SSL, "proxy.allow_plaintext_sasl=true"),
        # Their clients send the same to the brokers, and no password at all.
        ("upstream.bootstrap_servers=b:1", "upstream.security_protocol=SASL_PLAINTEXT"),
        ("upstream.bootstrap_servers=b:1", "upstream.security_protocol=SSL"),
    ],
)
def test_proxy_that_exposes_no_password_starts(changes):
    assert plan(*changes).cluster.section == "upstream"


def test_a_shared_identity_must_be_wanted():
    made = plan(
        "upstream.bootstrap_servers=b:1",
        "upstream.security_protocol=SSL",
        "upstream.ssl_certificate_location=c",
        "proxy.upstream_identity=shared",
    )
    assert made.has_tls


def test_a_port_that_cannot_be_or_is_taken_by_another_broker_is_refused():
    made = plan("proxy.base_port=60000", 'proxy.ports={ "7" = "60001" }')
    known = {1: KnownBroker(address=("b", 9092), port=60_001)}
    made.check_port(1, 60_001, known)
    made.check_port(2, 0, {3: KnownBroker(address=("b", 9092), port=0)})
    with pytest.raises(MissingService, match="broker 1"):
        made.check_port(7, made.port_of(7), known)
    with pytest.raises(MissingService, match="66000"):
        made.check_port(6_000, made.port_of(6_000), known)
