"""A real HTTP server on loopback, for keys."""

import http.server
import threading
from contextlib import contextmanager


@contextmanager
def issuer(answers, context=None):
    """Serve a table of path to (status, body, headers); yield the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, body, headers = answers[self.path]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
