"""As much of Kubernetes' API as a driver asks for: pods, of which each is a process.

No image is run. A pod's command, variables and working folder are taken as they are;
/app, where the image has a checkout, is the checkout of the tests.
"""

import json
import os
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
DRIVER = "driver"
LOOPBACK = "127.0.0.1"
_PATH = re.compile(r"/api/v1/namespaces/([\w-]+)/(\w+)(?:/([\w.-]+))?")


class Pods:
    """The pods of a namespace."""

    def __init__(self, folder):
        """Run them below a folder."""
        self.made = {}
        self._folder = Path(folder)
        self._processes = {}

    def create(self, manifest):
        """Start the first container of a pod."""
        name = manifest["metadata"]["name"]
        manifest["metadata"]["uid"] = name
        (container,) = manifest["spec"]["containers"]
        home = self._folder / name
        home.mkdir()
        variables = {
            one["name"]: self._resolve(one, name) for one in container.get("env", ())
        }
        with (home / "log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [
                    word.replace("/app/", f"{ROOT}/")
                    for word in (*container["command"], *container["args"])
                ],
                cwd=home,
                # What a container has beside its own: no more of this machine than that.
                env={
                    "PATH": os.environ["PATH"],
                    **variables,
                    "SPARK_LOCAL_DIRS": str(home),
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.made[name] = manifest
        return self.show(name)

    def _resolve(self, variable, name):
        if "value" in variable or "valueFrom" not in variable:
            return variable.get("value") or ""
        field = variable["valueFrom"]["fieldRef"]["fieldPath"]
        return {"metadata.name": name, "status.podIP": LOOPBACK}[field]

    def show(self, name):
        """Return a pod with its status; None where there is none."""
        if name == DRIVER:
            ready = [{"type": "Ready", "status": "True"}]
            return {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": DRIVER, "uid": DRIVER},
                "status": {"phase": "Running", "conditions": ready},
            }
        if name not in self._processes:
            return None
        code = self._processes[name].poll()
        phase = {None: "Running", 0: "Succeeded"}.get(code, "Failed")
        return self.made[name] | {"status": {"phase": phase, "podIP": LOOPBACK}}

    def show_all(self):
        """Return the list of the pods."""
        items = [self.show(name) for name in list(self._processes)]
        return {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}

    def delete(self, name=None):
        """End a pod, or all of them."""
        for one in [name] if name else list(self._processes):
            process = self._processes.pop(one, None)
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def read_logs(self):
        """Return what all pods have said."""
        logs = sorted(self._folder.glob("*/log"))
        return "\n".join(path.read_text(errors="replace") for path in logs)


class _Handler(BaseHTTPRequestHandler):
    """Answers requests; a subclass has the pods."""

    protocol_version = "HTTP/1.1"
    pods = None

    def log_message(self, *_):
        """Say nothing."""

    def _read(self):
        length = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(length) or b"{}")

    def _answer(self, found):
        missing = {"kind": "Status", "apiVersion": "v1", "code": 404}
        body = json.dumps(missing if found is None else found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _find(self):
        found = _PATH.match(self.path)
        return (found[2], found[3]) if found else (None, None)

    def do_GET(self):
        kind, name = self._find()
        if kind == "pods":
            self._answer(self.pods.show(name) if name else self.pods.show_all())
            return
        empty = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}
        self._answer(None if kind is None or name else empty)

    def do_POST(self):
        kind, _ = self._find()
        manifest = self._read()
        self._answer(self.pods.create(manifest) if kind == "pods" else manifest)

    def do_PATCH(self):
        self._read()
        self._answer(self.pods.show(self._find()[1]))

    def do_DELETE(self):
        self._read()
        kind, name = self._find()
        if kind == "pods":
            self.pods.delete(name)
        self._answer({"kind": "Status", "apiVersion": "v1", "code": 200})


@contextmanager
def running_api(folder):
    """Yield (the address, pods) of an API whose pods run below a folder."""
    pods = Pods(folder)
    server = ThreadingHTTPServer(
        (LOOPBACK, 0), type("Handler", (_Handler,), {"pods": pods})
    )
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}", pods
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        pods.delete()
