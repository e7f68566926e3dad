"""Waiting for what may be given up: calls of librdkafka, and work before a stop.

A call has a thread that no end of a process waits for.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

Done = TypeVar("Done")


async def call_in_thread(call: Callable[[], Done]) -> Done:
    """Call in a thread that nobody waits for at the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Done] = loop.create_future()

    def settle(result: Done | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type] # None is its result then

    def run() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # noqa: BLE001 - raised again where it is awaited
            error = raised
        # The loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await done


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
