"""PORT SIZE COUNT: that many sets of SIZE bytes, one after the other, through pymemcache as its
documentation shows it, each read back at the end. Prints one JSON object; exit status 1 on any
error."""

import json
import math
import sys
import time

import pymemcache
from pymemcache.client.base import Client

WARM_UPS = 3  # the first sets on a connection never stall: the kernel acknowledges at once


def value_of(index, size):
    return (f"{index} ".encode() + b"abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def main(port, size, count):
    client = Client(("127.0.0.1", port), connect_timeout=10, timeout=10)
    times = []
    errors = 0
    for index in range(-WARM_UPS, count):
        start = time.perf_counter_ns()
        if not client.set(f"py-{size}-{index}", value_of(index, size), noreply=False):
            errors += 1
        if index >= 0:
            times.append((time.perf_counter_ns() - start) / 1e6)
    for index in range(count):
        if client.get(f"py-{size}-{index}") != value_of(index, size):
            errors += 1
    client.close()
    times.sort()
    print(json.dumps({
        "client": f"pymemcache {pymemcache.__version__}",
        "sets": len(times),
        "p50_ms": percentile(times, 0.5),
        "p99_ms": percentile(times, 0.99),
        "errors": errors,
    }))
    return 1 if errors else 0


if __name__ == "__main__":
    if len(sys.argv) != 4 or not all(word.isdigit() and int(word) for word in sys.argv[1:]):
        sys.exit("usage: client.py PORT SIZE COUNT")
    sys.exit(main(*map(int, sys.argv[1:])))
