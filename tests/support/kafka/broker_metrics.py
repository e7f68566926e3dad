"""What a running broker says of itself by JMX, whose agent is started when asked."""

import shutil
import socket
import subprocess
from pathlib import Path

from tests.support.clients.java_programs import run_tool

_PATIENCE_S = 60


def read_broker_metrics(java, pid, *object_names):
    """Return attributes of a broker's beans, `<bean>:<attribute>` to a number.

    Args:
        java: Of a JDK.
        pid: Of the broker's process.
        object_names: Of the beans.
    """
    port = _start_agent(java, pid)
    names = [word for one in object_names for word in ("--object-name", one)]
    said = run_tool(
        java,
        "org.apache.kafka.tools.JmxTool",
        *("--jmx-url", f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"),
        *("--one-time", "--wait", "--report-format", "properties"),
        *names,
    )
    pairs = [line.rpartition("=") for line in said.splitlines() if "=" in line]
    return {name: _read_number(value) for name, _, value in pairs}


def _read_number(text):
    try:
        return float(text)
    except ValueError:
        return text


def _start_agent(java, pid):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    jcmd = Path(shutil.which(java)).resolve().parent / "jcmd"
    words = [
        *("ManagementAgent.start", f"jmxremote.port={port}"),
        *(f"jmxremote.rmi.port={port}", "jmxremote.host=127.0.0.1"),
        *("jmxremote.authenticate=false", "jmxremote.ssl=false"),
    ]
    subprocess.run(
        [jcmd, str(pid), *words], check=True, capture_output=True, timeout=_PATIENCE_S
    )
    return port
