"""An OIDC issuer of the tests' own: a token endpoint, and the keys that it signs with.

It takes the client-credentials grant as RFC 6749 has it. A test may let it refuse,
be late, answer rubbish or give tokens that have ended.
"""

import base64
import json
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

ISSUER, AUDIENCE, KEY_ID = "https://issuer.example", "kafka", "k1"
CLIENT_ID, CLIENT_SECRET, SCOPE = "bridge", "s3cr3t-of-the-client", "topics"
SUBJECT = "bridge"


class TokenServer:
    """Listens on loopback while it is entered; with files of a server, by TLS."""

    def __init__(self, folder, files=None):
        self.lifetime_s = 300.0
        self.answer = None
        """Status and bytes that stand for every answer; None for true ones."""
        self.secret = CLIENT_SECRET
        self.forms = []
        """What was asked, the newest last."""
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        jwk = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        self.keys_path = folder / "jwks.json"
        keys = [jwk | {"kid": KEY_ID, "use": "sig", "alg": "RS256"}]
        self.keys_path.write_text(json.dumps({"keys": keys}))
        self._files, self._port = files, 0
        self._server = None

    @property
    def url(self):
        """The token endpoint."""
        scheme = "http" if self._files is None else "https"
        return f"{scheme}://localhost:{self._port}/token"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Listen, on the port of before where there was one."""
        server = ThreadingHTTPServer(("127.0.0.1", self._port), _Handler)
        server.daemon_threads, server.issuer = True, self
        if self._files is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._files.certificate, self._files.key)
            # Each connection shakes hands where it is served, so that none waits.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._port = server.server_address[1]
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        self._thread.start()

    def stop(self):
        """Be away; harmless when it is."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            self._thread.join()

    def make_token(self, lifetime_s=None):
        """Return a signed token."""
        now_s = time.time()
        ends_s = now_s + (self.lifetime_s if lifetime_s is None else lifetime_s)
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": SUBJECT, "scope": SCOPE}
        claims |= {"iat": int(now_s) - 1, "exp": int(ends_s)}
        return jwt.encode(claims, self._key, "RS256", headers={"kid": KEY_ID})

    def reply(self, authorization, form):
        """Return status and body of an answer."""
        self.forms.append(form)
        if self.answer is not None:
            return self.answer
        wanted = base64.b64encode(f"{CLIENT_ID}:{self.secret}".encode()).decode()
        if authorization != f"Basic {wanted}":
            return 401, json.dumps({"error": "invalid_client"}).encode()
        if form.get("grant_type") != "client_credentials":
            return 400, json.dumps({"error": "unsupported_grant_type"}).encode()
        told = {"token_type": "Bearer", "expires_in": int(self.lifetime_s)}
        return 200, json.dumps(told | {"access_token": self.make_token()}).encode()


class _Handler(BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self):
        size = int(self.headers.get("Content-Length", 0))
        form = dict(urllib.parse.parse_qsl(self.rfile.read(size).decode()))
        authorization = self.headers.get("Authorization", "")
        status, body = self.server.issuer.reply(authorization, form)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""
