"""The job of configurations over a real topic, and every byte that it left."""

import asyncio
import uuid

import pyarrow.parquet as pq

from pipelines.bridge.protocol.push_config import write_push_config
from pipelines.delta_tables.locations import identify_table
from pipelines.jobs.configs import job as client_configs_to_delta
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from tests.support.spark.writer_option import writer_override
from tests.unit.bridge.push_config.raw_client import PUSH_CONFIG, connect


def make_settings(servers, topic, folder, *overrides):
    """Return settings that keep everything of the job under one folder."""
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={servers}",
            f"topics.configs={topic}",
            f"tables.root_path={folder}/tables",
            f"client_configs_to_delta.checkpoint_location={folder}/checkpoint",
            writer_override(),
            *overrides,
        ],
    )


def run_once(spark, settings, **observers):
    """Run the job over what its topic holds."""
    query = client_configs_to_delta.run(
        spark,
        settings,
        RunContext(secrets=SecretReader(environ={}), is_once=True, **observers),
        catalogs=load_config_catalogs(),
        client_type_keys=load_client_type_keys(),
    )
    query.awaitTermination()


def read_table(spark, settings, contract):
    """Return a table."""
    return spark.table(identify_table(spark, settings.tables, contract))


async def push_bodies(host, port, bodies, note_reply=lambda _reply: None, *, lanes=1):
    """Send bodies, each as a client instance of its own; return the error codes.

    A body that closes the connection has none. So many are under way at once.
    """
    codes = {}
    waiting = iter(enumerate(bodies))

    async def push_next():
        for number, body in waiting:
            client = await connect(host, port)
            await client.say_versions(instance_id=uuid.uuid4())
            try:
                reply = await client.ask(PUSH_CONFIG, 0, body)
                note_reply(reply)
                codes[number] = int.from_bytes(reply[5:7])
            except asyncio.IncompleteReadError:
                codes[number] = None
            client.close()

    await asyncio.gather(*(push_next() for _ in range(lanes)))
    return [codes[number] for number in sorted(codes)]


def encode_pushes(pushes):
    """Return the bodies of requests."""
    return [write_push_config(push) for push in pushes]


def read_every_byte(folder):
    """Yield the path and the bytes of each file, Parquet as it is and as it reads."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        yield path, path.read_bytes()
        if path.suffix == ".parquet":
            rows = pq.ParquetFile(path).read()
            yield path, repr(rows.to_pydict()).encode()
