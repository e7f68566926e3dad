"""A bridge with every kind of listener, its users, its issuer and its authority."""

import asyncio
import json
import time
import uuid
from contextlib import asynccontextmanager

import jwt
from confluent_kafka import Consumer, TopicPartition
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from pipelines.bridge.security.sasl.credentials import make_credential
from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.certificates import Authority
from tests.support.kafka.topics import find_partitions

PASSWORD = "correct horse, bättery=staple"
ISSUER, AUDIENCE = "https://issuer.example", "clientele"
MECHANISMS = '["PLAIN","SCRAM-SHA-256","SCRAM-SHA-512","OAUTHBEARER"]'
PATIENCE_S = 180


class Site:
    """The files of one bridge, in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority(folder)
        self.server = self.authority.issue("server", "CN=localhost")
        self.users = folder / "users.jsonl"
        self.users.write_text("")
        self.add_user("alice")
        self.key = ec.generate_private_key(ec.SECP256R1())
        jwk = ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True) | {"kid": "k1"}
        self.keys = folder / "keys.json"
        self.keys.write_text(json.dumps({"keys": [jwk]}))

    def add_user(self, name, mechanisms=("SCRAM-SHA-256", "SCRAM-SHA-512")):
        with self.users.open("a", encoding="utf-8") as file:
            for mechanism in mechanisms:
                one = make_credential(
                    name=name,
                    password=PASSWORD,
                    mechanism=mechanism,
                    iterations=4_096,
                    salt=uuid.uuid4().bytes,
                )
                file.write(one.as_line() + "\n")

    def make_token(self, name, *, lifetime_s=300, audience=AUDIENCE):
        """Return a signed token and when it ends."""
        ends_s = time.time() + lifetime_s
        claims = {"iss": ISSUER, "aud": audience, "sub": name, "exp": int(ends_s)}
        claims |= {"iat": int(time.time())}
        return jwt.encode(claims, self.key, "ES256", headers={"kid": "k1"}), ends_s

    def settings(self, kafka, topic, *more):
        files = (
            f'ssl_certificate_location="{self.server.certificate}",'
            f'ssl_key_location="{self.server.key}",'
            f'ssl_ca_location="{self.authority.path}"'
        )
        sasl = f"sasl_mechanisms={MECHANISMS}"
        rules = 'ssl_principal_mapping_rules="RULE:^CN=(.*?),.*$/$1/,DEFAULT"'
        kinds = {
            "PLAINTEXT": "",
            "SSL": f',{files},ssl_client_auth="requested",{rules}',
            "SASL_PLAINTEXT": f",{sasl}",
            "SASL_SSL": f",{files},{sasl}",
        }
        # Clients check that this name stands in the certificate.
        listeners = ",".join(
            f'{{name="{kind}",port=0,advertised_host="localhost",'
            f'security_protocol="{kind}"{one}}}'
            for kind, one in kinds.items()
        )
        subscription = '{name="s",metrics=["*"],interval_ms=500,match=[]}'
        words = [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry={topic}",
            "topics.partitions=1",
            f"subscriptions=[{subscription}]",
            f"listeners=[{listeners}]",
            f"authentication.credentials_location={self.users}",
            f"authentication.oauth_jwks_location={self.keys}",
            f"authentication.oauth_issuer={ISSUER}",
            f"authentication.oauth_audience={AUDIENCE}",
            "authentication.reload_interval_ms=100",
        ]
        return load_settings("local", [*words, *more])


@asynccontextmanager
async def serving(settings):
    """Run a bridge in this loop; yield it once clients may connect."""
    server = BridgeServer(settings, SecretReader(environ={}))
    stop, ready = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(stop, lambda _host, _port: ready.set()))
        await ready.wait()
        try:
            yield server
        finally:
            stop.set()


def wait_for_pushes(kafka, topic, client_ids, poll_clients=lambda: None):
    """Return the newest headers of each client once every one has pushed."""
    reader = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "enable.metrics.push": False,
        }
    )
    seen, deadline = {}, time.monotonic() + PATIENCE_S
    try:
        partitions = find_partitions(reader, topic)
        reader.assign([TopicPartition(topic, one, 0) for one in partitions])
        while not set(client_ids) <= set(seen):
            assert time.monotonic() < deadline, set(client_ids) - set(seen)
            poll_clients()
            record = reader.poll(0.1)
            if record is not None and record.error() is None:
                headers = {name: value.decode() for name, value in record.headers()}
                seen[headers["client_id"]] = headers
    finally:
        reader.close()
    return seen
