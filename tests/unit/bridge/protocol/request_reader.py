"""Bytes to requests, as the bridge's connections make them."""

from pipelines.bridge.protocol.request_stream import RequestStream
from pipelines.bridge.protocol.requests import parse_request


class RequestReader(RequestStream):
    """A stream of requests instead of frames."""

    def __init__(self, apis, *, max_request_bytes):
        super().__init__(max_request_bytes=max_request_bytes)
        self._apis = apis

    def next_request(self):
        frame = self.next_frame()
        return None if frame is None else parse_request(frame, self._apis)
