"""A real HDFS and YARN on this machine, each daemon a process that can be killed.

Their jar is hadoop-client-minicluster, which holds all servers; what else they need
comes with pyspark. Nothing of theirs outlives the block.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from pipelines.embedded.ports import LOOPBACK, pick_free_ports
from tests.client_jars import PYSPARK_JARS_PATH, ensure_cluster_jars

PATIENCE_S = 240
LIVES_S = 0.3
"""Between two looks at what no event tells."""
NAMENODE, DATANODE = "namenode.NameNode", "datanode.DataNode"
MANAGER, NODE = "resourcemanager.ResourceManager", "nodemanager.NodeManager"
_PACKAGES = {
    NAMENODE: "org.apache.hadoop.hdfs.server",
    DATANODE: "org.apache.hadoop.hdfs.server",
    MANAGER: "org.apache.hadoop.yarn.server",
    NODE: "org.apache.hadoop.yarn.server",
}
_FROM_PYSPARK = (
    *("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "log4j-", "commons-"),
    *("jakarta", "javax", "guava", "failureaccess", "jackson-", "leveldbjni"),
)
_JAVA_OPTIONS = (
    *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
)
_APPLICATION = re.compile(r"application_\d+_\d+")
_LOG_LEVELS = """\
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1}: %m%n%ex{3}
"""
SITE = {
    "dfs.replication": "2",
    "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    # A dead DataNode is known in seconds instead of ten minutes.
    "dfs.heartbeat.interval": "1",
    "dfs.namenode.heartbeat.recheck-interval": "2000",
    # So is a copy that was to be made there, in place of five minutes or ten.
    "dfs.namenode.reconstruction.pending.timeout-sec": "5",
    "dfs.namenode.fs-limits.min-block-size": "0",
    # It would flush each edit to a disk that all share here.
    "dfs.namenode.edits.noeditlogchannelflush": "true",
    "yarn.nodemanager.hostname": LOOPBACK,
    "yarn.nodemanager.resource.memory-mb": "4096",
    "yarn.nodemanager.resource.cpu-vcores": "8",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": (
        "99.5"
    ),
    "yarn.resourcemanager.am.max-attempts": "4",
    "yarn.scheduler.minimum-allocation-mb": "128",
    "yarn.nm.liveness-monitor.expiry-interval-ms": "60000",
    "yarn.am.liveness-monitor.expiry-interval-ms": "180000",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
}


class Daemon:
    """One process of Hadoop's, always in the same place."""

    def __init__(self, name: str, words, log_path: Path, environ: Mapping[str, str]):
        self.name = name
        self._words, self._environ = words, environ
        self.log_path = log_path
        self._process = None

    def start(self):
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._words,
                cwd=self.log_path.parent,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def is_running(self):
        return self._process.poll() is None

    def check(self):
        """Fail where it has ended by itself."""
        assert self.is_running(), f"{self.name} ended: see {self.log_path}"

    def kill(self):
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A JVM that a NodeManager has started."""

    pid: int
    node: int
    application: str
    command: str

    @property
    def is_driver(self):
        """Whether it is the application's master: in cluster mode, its driver."""
        return ".ApplicationMaster " in self.command

    @property
    def is_executor(self):
        return "ExecutorBackend" in self.command

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


class HadoopCluster:
    """One NameNode and ResourceManager, some DataNodes and NodeManagers."""

    def __init__(self, folder: Path, *, java="java", nodes=2, path_first=""):
        """Start nothing yet.

        Args:
            nodes: Number of DataNodes, and of NodeManagers.
            path_first: Folder of programs that containers find first.
        """
        self._folder, self._java, self._nodes = folder, java, nodes
        self.conf_path = folder / "conf"
        ports = iter(pick_free_ports(6 + 5 * nodes, frozenset()))
        self._addresses = {
            "dfs.namenode.rpc-address": next(ports),
            "dfs.namenode.http-address": next(ports),
            "yarn.resourcemanager.address": next(ports),
            "yarn.resourcemanager.scheduler.address": next(ports),
            "yarn.resourcemanager.resource-tracker.address": next(ports),
            "yarn.resourcemanager.webapp.address": next(ports),
        }
        self._node_ports = [[next(ports) for _ in range(5)] for _ in range(nodes)]
        path = os.environ["PATH"]
        self._environ = {
            "PATH": f"{path_first}:{path}" if path_first else path,
            "HOME": str(folder),
            "HADOOP_USER_NAME": "tests",
            **({"JAVA_HOME": home} if (home := _find_java_home(java)) else {}),
        }
        self.daemons: dict[tuple[str, int], Daemon] = {}

    @property
    def uri(self):
        return f"hdfs://{LOOPBACK}:{self._addresses['dfs.namenode.rpc-address']}"

    @property
    def client_environ(self):
        """Variables by which a client finds both, as the user who owns all files."""
        return {
            "HADOOP_CONF_DIR": str(self.conf_path),
            "YARN_CONF_DIR": str(self.conf_path),
            "HADOOP_USER_NAME": "tests",
        }

    def __enter__(self):
        try:
            self._write_conf()
            self._make_daemons()
            subprocess.run(
                [*self._java_words(NAMENODE), "-format", "-force", "-nonInteractive"],
                cwd=self._folder,
                env=self._environ,
                check=True,
                capture_output=True,
            )
            for one in self.daemons.values():
                one.start()
            self.wait_for_datanodes(self._nodes)
            self.wait_for_nodes(self._nodes)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End all daemons and what they have started."""
        for (kind, _), one in self.daemons.items():
            if kind == NODE:
                one.kill()
        for container in self.find_containers():
            container.kill()
        for one in self.daemons.values():
            one.kill()

    def restart(self, kind, number):
        """Start a daemon that was killed, and wait until the others know it."""
        self.daemons[kind, number].start()
        wait = self.wait_for_datanodes if kind == DATANODE else self.wait_for_nodes
        wait(self._nodes)

    def wait_for_datanodes(self, count):
        self._wait_until(
            lambda: self._ask_namenode("NumLiveDataNodes") == count,
            f"{count} DataNodes",
        )

    def wait_for_replicas(self):
        """Wait until each block has all: else a DataNode's end is that of rows."""
        lacking = ("UnderReplicatedBlocks", "PendingReplicationBlocks")
        self._wait_until(
            lambda: not any(map(self._ask_namenode, lacking)),
            "all replicas of each block",
        )

    def _ask_namenode(self, name):
        query = "Hadoop:service=NameNode,name=FSNamesystemState"
        port = self._addresses["dfs.namenode.http-address"]
        beans = _ask(port, f"/jmx?qry={query}").get("beans")
        return beans[0][name] if beans else None

    def wait_for_nodes(self, count):
        port = self._addresses["yarn.resourcemanager.webapp.address"]

        def count_active():
            told = _ask(port, "/ws/v1/cluster/metrics").get("clusterMetrics", {})
            return told.get("activeNodes")

        self._wait_until(lambda: count_active() == count, f"{count} NodeManagers")

    def list_applications(self):
        """Return what YARN says of each application."""
        port = self._addresses["yarn.resourcemanager.webapp.address"]
        return (_ask(port, "/ws/v1/cluster/apps").get("apps") or {}).get("app", [])

    def end_application(self, application):
        """Let YARN end an application, as `yarn application -kill` does."""
        port = self._addresses["yarn.resourcemanager.webapp.address"]
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PATIENCE_S)
        try:
            connection.request(
                "PUT",
                f"/ws/v1/cluster/apps/{application}/state?user.name=tests",
                b'{"state": "KILLED"}',
                {"Content-Type": "application/json"},
            )
            assert connection.getresponse().status in {200, 202}
        finally:
            connection.close()

    def find_containers(self):
        """Return the JVMs that run in containers now."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                place = (path / "cwd").readlink()
                words = (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if not words[0].endswith(b"java"):
                continue
            for node in range(self._nodes):
                # Beside these, a NodeManager itself has its folder there.
                if place.is_relative_to(self._node_folder(node) / "local"):
                    (name,) = _APPLICATION.findall(str(place))[:1]
                    found.append(
                        Container(
                            pid=int(path.name),
                            node=node,
                            application=name,
                            command=b" ".join(words).decode(),
                        )
                    )
        return found

    def read_logs(self, application, name="std*"):
        """Return what the containers of an application have written, by path.

        What Python says of a driver Spark prints to its standard output.
        """
        paths = self._folder.glob(f"node-*/logs/{application}/*/{name}")
        return {str(path): path.read_text(errors="replace") for path in paths}

    def _wait_until(self, is_so, what):
        deadline = time.monotonic() + PATIENCE_S
        running = [one for one in self.daemons.values() if one.is_running()]
        while not is_so():
            for one in running:
                one.check()
            assert time.monotonic() < deadline, f"no {what}: see {self._folder}/*.log"
            time.sleep(LIVES_S)

    def _node_folder(self, number):
        return self._folder / f"node-{number}"

    def _make_daemons(self):
        places = [(NAMENODE, 0, {}), (MANAGER, 0, {})]
        for number, ports in enumerate(self._node_ports):
            data, http, rpc, *node = (f"{LOOPBACK}:{port}" for port in ports)
            folder = self._node_folder(number)
            folder.mkdir()
            disk = {
                "dfs.datanode.data.dir": f"{folder}/data",
                "dfs.datanode.address": data,
                "dfs.datanode.http.address": http,
                "dfs.datanode.ipc.address": rpc,
            }
            work = {
                "yarn.nodemanager.local-dirs": f"{folder}/local",
                "yarn.nodemanager.log-dirs": f"{folder}/logs",
                "yarn.nodemanager.address": node[0],
                "yarn.nodemanager.localizer.address": node[1],
                "yarn.nodemanager.webapp.address": f"{LOOPBACK}:0",
            }
            places += [(DATANODE, number, disk), (NODE, number, work)]
        for kind, number, values in places:
            set_here = [w for name in values for w in ("-D", f"{name}={values[name]}")]
            name = f"{kind.partition('.')[0]}-{number}"
            self.daemons[kind, number] = Daemon(
                name,
                [*self._java_words(kind), *set_here],
                self._folder / f"{name}.log",
                self._environ,
            )

    def _java_words(self, kind):
        jars = [
            *ensure_cluster_jars("hadoop"),
            *(
                jar
                for jar in sorted(PYSPARK_JARS_PATH.glob("*.jar"))
                if jar.name.startswith(_FROM_PYSPARK)
            ),
        ]
        class_path = ":".join(map(str, [self.conf_path, *jars]))
        levels = f"-Dlog4j2.configurationFile={self.conf_path}/log4j2.properties"
        name = f"{_PACKAGES[kind]}.{kind}"
        return [self._java, *_JAVA_OPTIONS, levels, "-cp", class_path, name]

    def _write_conf(self):
        self.conf_path.mkdir(parents=True)
        (self.conf_path / "log4j2.properties").write_text(_LOG_LEVELS)
        values = {
            **SITE,
            **{n: f"{LOOPBACK}:{port}" for n, port in self._addresses.items()},
            "fs.defaultFS": self.uri,
            "hadoop.tmp.dir": f"{self._folder}/scratch",
            "dfs.namenode.name.dir": f"{self._folder}/names",
        }
        lines = [
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value>"
            "</property>"
            for name, value in values.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>", ""])
        for kind in ("core-site", "hdfs-site", "yarn-site", "capacity-scheduler"):
            (self.conf_path / f"{kind}.xml").write_text(text)


def _ask(port, path):
    """Return the JSON of a page; nothing where nobody answers yet."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}") as answer:
            return json.load(answer)
    except (OSError, urllib.error.HTTPError, ValueError):
        return {}


def _find_java_home(java):
    """Return the home of a Java; containers start its program by that."""
    settings = [java, "-XshowSettings:properties", "-version"]
    done = subprocess.run(settings, capture_output=True, check=True, text=True)
    lines = [line.split("=") for line in done.stderr.splitlines() if "=" in line]
    return next(value.strip() for name, value in lines if name.strip() == "java.home")
