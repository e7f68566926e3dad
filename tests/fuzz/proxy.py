"""Cut, delay and mix up proxied connections; nothing may be lost or harmed.

Usage: nice python tests/fuzz/proxy.py [--lives 10000] [--seed 0]
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import uvloop  # noqa: E402 - path

from tests.fuzz import proxy_lives  # noqa: E402 - path


def count_files():
    return len(list(Path("/dev/fd").iterdir()))


async def run(seed, lives):
    # What the loop itself opens is opened by then.
    await proxy_lives.run(seed + lives, 1)
    files = count_files()
    seen = await proxy_lives.run(seed, lives)
    await asyncio.sleep(0.1)
    tasks = len(asyncio.all_tasks()) - 1
    return seen, count_files() - files, tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lives", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.process_time()
    seen, files, tasks = uvloop.run(run(arguments.seed, arguments.lives))
    print(seen)
    print(
        f"CPU-seconds {time.process_time() - began:.0f}; files left {files}, "
        f"tasks left {tasks}"
    )
    return 1 if files > 0 or tasks else 0


if __name__ == "__main__":
    sys.exit(main())
