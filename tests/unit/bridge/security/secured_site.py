"""A folder with everything that one SASL_SSL listener needs."""

import json

from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from pipelines.bridge.front.listening import plan_listeners
from pipelines.bridge.security.sasl.credentials import make_credential
from pipelines.bridge.security.security_files import SecurityFiles
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.certificates import Authority

NO_SECRETS = SecretReader(environ={})


def write_user(path, name):
    one = make_credential(
        name=name,
        password="pencil",
        mechanism="SCRAM-SHA-256",
        iterations=4_096,
        salt=b"0123456789ab",
    )
    path.write_text(one.as_line())


def write_keys(path, key_id):
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    one = ECAlgorithm.to_jwk(key, as_dict=True) | {"kid": key_id}
    path.write_text(json.dumps({"keys": [one]}))


class Site:
    """A folder with everything that one listener needs."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority(folder)
        self.server = self.authority.issue("server", "CN=first")
        self.users, self.keys = folder / "users", folder / "keys"
        write_user(self.users, "alice")
        write_keys(self.keys, "k1")

    def words(self, **changes):
        values = {
            "name": "S",
            "security_protocol": "SASL_SSL",
            "ssl_certificate_location": str(self.server.certificate),
            "ssl_key_location": str(self.server.key),
        } | changes
        table = ",".join(f'{name}="{value}"' for name, value in values.items())
        mechanisms = 'sasl_mechanisms=["PLAIN","OAUTHBEARER"]'
        return [
            f"listeners=[{{port=0,{table},{mechanisms}}}]",
            f"authentication.credentials_location={self.users}",
            f"authentication.oauth_jwks_location={self.keys}",
            "authentication.oauth_issuer=i",
            "authentication.oauth_audience=a",
        ]

    def read(self, *more, secrets=NO_SECRETS, **changes):
        settings = load_settings("local", [*self.words(**changes), *more])
        return SecurityFiles(plan_listeners(settings), settings.authentication, secrets)
