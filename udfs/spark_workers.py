"""What a worker of Spark keeps between its tasks.

pyspark's daemon collects garbage after every task. That looks at all that pyarrow,
pandas and numba have loaded, a tenth of a CPU-second, which is more than the kernel
takes for a small batch. So a worker that has run a kernel once has its collector leave
alone what was loaded by then.
Source: pyspark 4.2.0, daemon.py, `gc.collect()`; Python's documentation, gc.freeze.
"""

import gc
from collections.abc import Callable, Iterator
from functools import cache

import pyarrow as pa

Kernel = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def keeping_loaded(kernel: Kernel) -> Kernel:
    """Return a kernel for mapInArrow that a worker keeps loaded."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from kernel(batches)
        keep_loaded()

    return run


@cache
def keep_loaded() -> None:
    """Have the collector pass over what is there now, once a process.

    Called at the end of work, since some of it is loaded by the first batch.
    """
    gc.collect()
    gc.freeze()
