"""A server of quotas and of dynamic client configs: real bytes, in a thread."""

import contextlib
import socketserver
import struct
import threading

from kio.schema.alter_client_quotas.v1 import response as altered_quotas
from kio.schema.describe_client_quotas.v1 import response as described_quotas
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

from pipelines.bridge.protocol.client_configs import read_alterations, read_describe
from pipelines.kafka_client.client_configs import (
    ALTER_CLIENT_CONFIGS,
    DESCRIBE_CLIENT_CONFIGS,
    Altered,
    Described,
    DescribedEntity,
    Match,
    write_altered,
    write_described,
)
from pipelines.kafka_client.primitives import Cursor
from pipelines.kafka_wire.cluster_requests import (
    ALTER_CLIENT_QUOTAS,
    DESCRIBE_CLIENT_QUOTAS,
)
from pipelines.kafka_wire.messages import NO_THROTTLE
from tests.support.kafka_answers import Answers, frame_answer, split_request

_HEADER = struct.Struct(">hhih")
API_VERSIONS = 18


class ConfigBroker:
    """Keeps what it is told, and judges none of it but as a test says."""

    def __init__(
        self,
        *,
        describe_key=DESCRIBE_CLIENT_CONFIGS,
        alter_key=ALTER_CLIENT_CONFIGS,
        is_serving=True,
    ):
        self.quotas, self.dynamic = {}, {}
        self.asked = []
        """The API keys of requests, greetings apart."""
        self.answers = []
        """Error code and message of the next answers about dynamic configs."""
        self._own = {describe_key: self._describe, alter_key: self._alter}
        served = dict.fromkeys(self._own, (0, 0)) if is_serving else {}
        quota_apis = {DESCRIBE_CLIENT_QUOTAS: (0, 1), ALTER_CLIENT_QUOTAS: (0, 1)}
        self._greetings = Answers({API_VERSIONS: (0, 3), **quota_apis, **served})
        self._greetings.others = self._answer_about_quotas

    def __enter__(self):
        broker = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while size := self.rfile.read(4):
                    frame = self.rfile.read(int.from_bytes(size))
                    self.wfile.write(broker._answer(size + frame))

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,)).start()
        self.place = f"127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, data):
        api_key, _, correlation_id, name_bytes = _HEADER.unpack_from(data, 4)
        if api_key != API_VERSIONS:
            self.asked.append(api_key)
        if api_key not in self._own:
            correlation_id, request, _ = split_request(data)
            return frame_answer(request, correlation_id, self._greetings(request))
        cursor = Cursor(data[4 + _HEADER.size + name_bytes :])
        body = self._own[api_key](cursor)
        return struct.pack(">ii", 4 + len(body), correlation_id) + body

    def _describe(self, cursor):
        asked = read_describe(cursor)
        assert asked.strict
        if self.answers:
            return write_described(Described(0, *self.answers.pop(0), None))
        found = [
            DescribedEntity(entity, values)
            for entity, values in self.dynamic.items()
            if _is_meant(entity, asked.components)
        ]
        return write_described(Described(0, 0, None, found))

    def _alter(self, cursor):
        asked = read_alterations(cursor)
        assert not asked.validate_only
        (alteration,) = asked.alterations
        code, message = self.answers.pop(0) if self.answers else (0, None)
        if not code:
            _change(self.dynamic, alteration.entity, alteration.ops)
        return write_altered(0, [Altered(code, message, alteration.entity)])

    def _answer_about_quotas(self, request):
        if request.__api_key__ == DESCRIBE_CLIENT_QUOTAS:
            return described_quotas.DescribeClientQuotasResponse(
                throttle_time=NO_THROTTLE,
                error_code=ErrorCode.none,
                error_message=None,
                entries=tuple(
                    _describe_quotas(entity, values)
                    for entity, values in self.quotas.items()
                    if _is_meant(entity, request.components)
                ),
            )
        (entry,) = request.entries
        entity = tuple((part.entity_type, part.entity_name) for part in entry.entity)
        _change(self.quotas, entity, entry.ops)
        parts = [
            altered_quotas.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity
        ]
        done = altered_quotas.EntryData(
            error_code=ErrorCode.none, error_message=None, entity=tuple(parts)
        )
        return altered_quotas.AlterClientQuotasResponse(
            throttle_time=NO_THROTTLE, entries=(done,)
        )


def _change(store, entity, ops):
    values = store.setdefault(entity, {})
    for op in ops:
        if op.remove:
            with contextlib.suppress(KeyError):
                del values[op.key]
        else:
            values[op.key] = op.value


def _is_meant(entity, components):
    names = dict(entity)
    return {*names} == {one.entity_type for one in components} and all(
        {
            Match.EXACT: names[one.entity_type] == one.match,
            Match.DEFAULT: names[one.entity_type] is None,
            Match.ANY: True,
        }[Match(one.match_type)]
        for one in components
    )


def _describe_quotas(entity, values):
    return described_quotas.EntryData(
        entity=tuple(
            described_quotas.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity
        ),
        values=tuple(
            described_quotas.ValueData(key=key, value=f64(value))
            for key, value in values.items()
        ),
    )
