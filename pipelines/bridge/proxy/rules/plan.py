"""What [proxy] and [upstream] say, checked before anything starts."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.bridge.security.principal_rules import InvalidRule, PrincipalRules
from pipelines.errors import InvalidSetting, MissingService
from pipelines.settings.clients_cluster import (
    ClientsCluster,
    find_clients_cluster,
)
from pipelines.settings.kafka import publisher_config
from pipelines.settings.keys import MAX_INT32, MAX_PORT
from pipelines.settings.listener_records import ListenerSettings
from pipelines.settings.proxy_settings import ProxySettings
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

from .brokers import KnownBroker

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - refused, not bound
SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPlan:
    """Where to listen, and what is behind."""

    advertised_host: str
    base_port: int
    """The bootstrap address's; 0 for free ones."""
    ports: Mapping[int, int]
    """Node id to port, before base_port."""
    cluster: ClientsCluster
    """What is behind."""
    networks: tuple[Network, ...]
    """Load balancers that send a header of PROXY protocol 2."""
    listener: ListenerSettings
    """What clients must speak, on each of the ports."""
    principal_rules: PrincipalRules
    """A certificate's subject to a principal."""

    @property
    def has_sasl(self) -> bool:
        """Whether brokers want clients to authenticate by SASL."""
        return self.cluster.settings.security_protocol.startswith("SASL_")

    @property
    def has_tls(self) -> bool:
        """Whether brokers speak TLS."""
        return self.cluster.settings.security_protocol.endswith("SSL")

    def port_of(self, node_id: int) -> int:
        """Return the port for a broker's clients; 0 for a free one.

        Behind base_port is any broker: clients that were told that it is broker 0 would
        reach another one there. So broker 0 has the port before it.
        """
        if node_id in self.ports:
            return self.ports[node_id]
        return self.base_port + (node_id or -1) if self.base_port else 0

    def bootstrap_servers(self, port: int) -> str:
        """Return what clients set as bootstrap.servers.

        Args:
            port: base_port, or the free one that stands for it.
        """
        host = self.advertised_host
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def check_port(
        self, node_id: int, port: int, known: Mapping[int, KnownBroker]
    ) -> None:
        """See that a broker's port can be one, and is no other broker's.

        Raises: MissingService.
        """
        if port > MAX_PORT:
            raise MissingService(
                f"port {port} is above {MAX_PORT}: name another one in proxy.ports, or "
                f"lower proxy.base_port"
            )
        for other, broker in known.items():
            if port and other != node_id and broker.port == port:
                raise MissingService(
                    f"port {port} is that of broker {other}: correct proxy.ports"
                )

    def connection(self, secrets: SecretReader) -> Mapping[str, str]:
        """Return librdkafka's properties of the cluster; the values hold secrets.

        Raises: InvalidSetting, UnresolvedSecret.
        """
        section, kafka = self.cluster
        return publisher_config(kafka, secrets, key_prefix=f"{section}.")


def plan_proxy(settings: Settings) -> ProxyPlan:
    """Read the settings of a proxy that is enabled.

    Raises: InvalidSetting, naming the key.
    """
    proxy = settings.proxy
    cluster = find_clients_cluster(settings)
    plan = ProxyPlan(
        advertised_host=proxy.advertised_host or proxy.listen_host,
        base_port=proxy.base_port,
        ports=_parse_ports(proxy.ports),
        cluster=cluster,
        networks=_parse_networks(proxy.proxy_protocol_networks),
        listener=_make_listener(proxy),
        principal_rules=_parse_rules(proxy.ssl_principal_mapping_rules),
    )
    if plan.advertised_host in _EVERY_ADDRESS:
        raise InvalidSetting(
            f"proxy.advertised_host: must name what clients connect to, since "
            f"proxy.listen_host is {proxy.listen_host!r}"
        )
    if settings.bridge.workers > 1 and not plan.base_port:
        raise InvalidSetting(
            "proxy.base_port: is 0, and each of bridge.workers would take other ports"
        )
    _check_base_port(plan)
    _check_identity(settings, plan)
    _check_plaintext_sasl(proxy, plan)
    return plan


def _check_plaintext_sasl(proxy: ProxySettings, plan: ProxyPlan) -> None:
    """Refuse to expose passwords that clients send to brokers over TLS only."""
    is_exposed = plan.has_sasl and plan.has_tls and not proxy.ssl_certificate_location
    if is_exposed and not proxy.allow_plaintext_sasl:
        raise InvalidSetting(
            f"proxy.allow_plaintext_sasl: must be true to start without TLS for "
            f"clients, because {plan.cluster.key_name('security.protocol')} is "
            f"SASL_SSL and clients would send passwords in clear text. Set "
            f"proxy.ssl_certificate_location and proxy.ssl_key_location instead"
        )


def _check_base_port(plan: ProxyPlan) -> None:
    """See that the bootstrap address is no broker's, whichever brokers come."""
    if plan.base_port == 1 and 0 not in plan.ports:
        raise InvalidSetting("proxy.base_port: is 1, and broker 0 has the port before")
    for node_id, port in plan.ports.items():
        if port == plan.base_port:
            raise InvalidSetting(
                f"proxy.ports.{node_id}: is proxy.base_port, which is for all brokers"
            )


def _make_listener(proxy: ProxySettings) -> ListenerSettings:
    """Return what each port is, as a listener of its own; SASL is the brokers'."""
    if proxy.ssl_certificate_location and not proxy.ssl_key_location:
        raise InvalidSetting(
            "proxy.ssl_key_location: is missing beside proxy.ssl_certificate_location"
        )
    if proxy.ssl_client_auth != "none" and not proxy.ssl_ca_location:
        raise InvalidSetting(
            f"proxy.ssl_ca_location: is missing, since proxy.ssl_client_auth is "
            f"{proxy.ssl_client_auth}"
        )
    return ListenerSettings(
        name=proxy.listener,
        host=proxy.listen_host,
        port=proxy.base_port,
        advertised_host=proxy.advertised_host,
        advertised_port=0,
        security_protocol="SSL" if proxy.ssl_certificate_location else "PLAINTEXT",
        ssl_certificate_location=proxy.ssl_certificate_location,
        ssl_key_location=proxy.ssl_key_location,
        ssl_key_password=proxy.ssl_key_password,
        ssl_ca_location=proxy.ssl_ca_location,
        ssl_client_auth=proxy.ssl_client_auth,
        ssl_principal_mapping_rules=proxy.ssl_principal_mapping_rules,
        sasl_mechanisms=(),
    )


def _parse_rules(text: str) -> PrincipalRules:
    try:
        return PrincipalRules(text)
    except InvalidRule as error:
        raise InvalidSetting(f"proxy.ssl_principal_mapping_rules: {error}") from None


def _check_identity(settings: Settings, plan: ProxyPlan) -> None:
    """Refuse what would change whose ACLs and quotas count, unless that is wanted."""
    proxy = settings.proxy
    if proxy.ssl_client_auth != "none" and not proxy.ssl_certificate_location:
        raise InvalidSetting(
            f"proxy.ssl_certificate_location: is missing, since proxy.ssl_client_auth "
            f"is {proxy.ssl_client_auth}"
        )
    if proxy.upstream_identity == SHARED:
        return
    shown = [
        key
        for key, is_shown in (
            ("proxy.ssl_client_auth", proxy.ssl_client_auth != "none"),
            (
                plan.cluster.key_name("ssl.certificate.location"),
                plan.has_tls and bool(plan.cluster.settings.ssl_certificate_location),
            ),
        )
        if is_shown
    ]
    if shown:
        raise InvalidSetting(
            f"proxy.upstream_identity: must be {SHARED}, since {shown[0]} asks for a "
            f"certificate, and that of a client cannot be passed on: brokers would see "
            f"the bridge's, and its ACLs and quotas would count for all clients"
        )


def _parse_ports(ports: Mapping[str, str]) -> Mapping[int, int]:
    parsed: dict[int, int] = {}
    for node_text, port_text in ports.items():
        if not (node_text.isdecimal() and int(node_text) <= MAX_INT32):
            raise InvalidSetting(f"proxy.ports: {node_text!r} is no node id")
        if not (port_text.isdecimal() and 0 < int(port_text) <= MAX_PORT):
            raise InvalidSetting(f"proxy.ports.{node_text}: {port_text!r} is no port")
        if int(port_text) in parsed.values():
            raise InvalidSetting(f"proxy.ports.{node_text}: another broker's port")
        parsed[int(node_text)] = int(port_text)
    return parsed


def _parse_networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    networks = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError:
            raise InvalidSetting(
                f"proxy.proxy_protocol_networks: {text!r} is no address and no network"
            ) from None
    return tuple(networks)
