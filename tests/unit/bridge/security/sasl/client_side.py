"""A client's side of SASL for the tests of this folder."""

from pipelines.bridge.protocol.requests import parse_request
from pipelines.bridge.protocol.sasl import SASL_HANDSHAKE_API
from pipelines.bridge.security.sasl.mechanisms import Check

PASSWORD = "pencil, with ünïcode"
PLAIN = b"\0alice\0" + PASSWORD.encode()


def finish(client, step):
    """Do the check that a step asks for."""
    return client.finish_check(is_good=step.run()) if isinstance(step, Check) else step


def go(client, frames):
    """Give frames in turn; return the last step."""
    step = None
    for frame in frames:
        step = finish(client, client.receive_frame(frame))
    return step


def oauth(token, authzid="", extra=""):
    return f"n,{authzid},\x01auth=Bearer {token}\x01{extra}\x01".encode()


def parsed(frame):
    return parse_request(frame, {17: SASL_HANDSHAKE_API})
