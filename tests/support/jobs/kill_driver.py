"""A driver that runs the job and, if told so, kills itself at one point of it.

Usage: python kill_driver.py FOLDER CHECKPOINT SERVERS TOPIC BATCH_PUSHES SLICE_BYTES
                             POINT OCCURRENCE [SETTING=VALUE …]

At POINT (its OCCURRENCE-th time) the driver's whole process group, Python and JVM, dies
by SIGKILL. POINT `never` runs until somebody else kills it, POINT `end` until the topic
is read. Each point is told on standard output as `reached POINT`. A line `POINT,N` on
the standard input means another point from then on.
"""

import os
import signal
import sys
import threading

from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming import batch_slices
from pipelines.streaming.run_stream import RunContext
from tests.support.jobs.job_support import make_settings
from tests.support.spark.local_session import start_quick_session


def main(*words):
    folder, checkpoint, servers, topic, batch_pushes, slice_bytes, *more = words
    point, occurrence, *overrides = more
    batch_slices.SLICE_BYTES = int(slice_bytes)
    armed = {point: int(occurrence)}

    def listen():
        for line in sys.stdin:
            other, _, times = line.partition(",")
            armed[other] = int(times)

    threading.Thread(target=listen, daemon=True).start()

    def observe(reached, _rows):
        print(f"reached {reached}", flush=True)
        if reached not in armed:
            return
        armed[reached] -= 1
        if armed[reached] == 0:
            # Leader and only the driver's own: the JVM is in this group, too.
            os.killpg(os.getpid(), signal.SIGKILL)

    # What is left in the end is read at once; before that, one driver has two batches.
    limit = 20_000 if point == "end" else int(batch_pushes)
    settings = make_settings(
        servers,
        topic,
        folder,
        f"client_telemetry_to_delta.checkpoint_location={folder}/{checkpoint}",
        f"client_telemetry_to_delta.max_offsets_per_trigger={limit}",
        *overrides,
    )
    spark = start_quick_session(
        f"{folder}/warehouse", "--conf", f"spark.local.dir={folder}/spark"
    )
    query = client_telemetry_to_delta.run(
        spark,
        settings,
        RunContext(
            secrets=SecretReader(environ={}), is_once=point == "end", observer=observe
        ),
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
