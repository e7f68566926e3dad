"""Work that a stop cuts short."""

import asyncio
from collections.abc import Coroutine


async def is_done_before(
    stop: asyncio.Event, work: Coroutine[None, None, object]
) -> bool:
    """Do some work to its end, or give it up when stop is set."""
    tasks = [asyncio.create_task(work), asyncio.create_task(stop.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        is_done = tasks[0].done()
        if is_done:
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
    return is_done
