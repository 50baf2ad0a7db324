#!/usr/bin/python3
"""What mcscope costs: CPU per request beside the cheapest relay that epoll allows (floor_relay) and
beside other proxies, the stall of a split writer, memory, and a scrape. docs/BENCHMARKS.md says how
to read it.

Every load is run in rounds; in each round every path has its turn, in an order that moves on by one
from round to round, and is compared with the floor of the same round.
"""

import argparse
import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peers  # noqa: E402  (found through the line above)
import report  # noqa: E402

LOADS = {  # name: title, connections, requests, value bytes, set percent, pipeline, target
    "get-c1": ("get 100 B, 1 connection", 1, 8_000, 100, 10, 1, 1.05),
    "get-c50": ("get 100 B, 50 connections", 50, 40_000, 100, 10, 1, 1.05),
    "set10k-c50": ("set 10 KiB, 50 connections", 50, 16_000, 10_240, 100, 1, 1.05),
    "get-c50-p16": ("get 100 B, 50 connections, pipeline 16", 50, 160_000, 100, 10, 16, 1.10),
    "get100k-c8": ("get 100 KiB, 8 connections", 8, 3_000, 102_400, 10, 1, 1.05),
}
RUN_SECONDS = 120  # the longest that one run of one load may take

SPLIT_SIZES = {"600 B": 600, "10 KiB": 10_240, "100 KiB": 102_400}
SPLIT_WARMUP = 16  # a fresh connection is acknowledged at once for a while: no stall yet
SCRAPES = 50

TABLES = ("cpu", "all-cores", "stalls", "idle", "scrape", "recorder")


class Bench:
    """Where the programs are and what was asked for."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.ours = named_binaries(options.mcscope or [self.binary("mcscope")])

    def binary(self, name):
        return os.path.join(self.options.binaries, name)

    def starters(self, again=False):
        """{name: how to start that path before an upstream}, in the order of the tables."""
        relay = self.binary("floor_relay")
        found = {"floor": lambda upstream: peers.floor(relay, upstream)}
        if again:
            found["floor again"] = lambda upstream: peers.floor(relay, upstream, "floor again")
            found["floor, 2 threads"] = lambda upstream: peers.floor(
                relay, upstream, "floor, 2 threads", "--idle_thread")
        for name, start in peers.others().items():
            found[name] = lambda upstream, start=start: start(self.folder, upstream)
        for name, path in self.ours.items():
            found[name] = lambda upstream, name=name, path=path: peers.Mcscope(path, upstream, name)
        return found


def named_binaries(words):
    """{name: path} of [NAME=]PATH words."""
    named = {}
    for word in words:
        name, _, path = word.rpartition("=")
        name = name or ("mcscope" if not named else f"mcscope {len(named) + 1}")
        named[name] = os.path.abspath(path)
    return named


# --- CPU per request ------------------------------------------------------------------------------


def run_load(bench, load, peer, with_cpu, store):
    _, connections, requests, value_size, set_percent, pipeline, _ = load
    requests = max(int(requests * bench.options.scale), 2 * connections * pipeline)
    command = [bench.binary("closed_loop"), f"--port={peer.port}", f"--connections={connections}",
               f"--requests={requests}", f"--value_size={value_size}",
               f"--set_percent={set_percent}", f"--pipeline={pipeline}",
               f"--process={peer.pid if with_cpu else 0}", f"--store={store}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=RUN_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"through {peer.name}: {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def one_load(bench, load, paths):
    """{path: {what: [one value per round]}}; `ratio` is empty for what has no CPU of a proxy."""
    keys = ("rps", "p50_us", "p99_us", "cpu_us", "ratio")
    samples = {peer.name: {key: [] for key in keys} for peer in paths}
    run_load(bench, load, paths[0], with_cpu=False, store=True)
    for turn in range(bench.options.rounds):
        shift = turn % len(paths)
        for peer in paths[shift:] + paths[:shift]:
            run = run_load(bench, load, peer, with_cpu=peer.name != "direct", store=False)
            for key in keys[:-1]:
                if run[key] is not None:
                    samples[peer.name][key].append(run[key])
    floor = samples["floor"]["cpu_us"]
    for values in samples.values():
        values["ratio"] = [own / base for own, base in zip(values["cpu_us"], floor)]
    return samples


def measure_loads(bench, cores):
    """(every load's samples, peak memory of each path), all processes on `cores`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)  # what is started inherits it
    try:
        with contextlib.ExitStack() as running:
            paths = [start_in(running, peers.memcached, bench.folder)]
            for start in bench.starters(again=True).values():
                paths.append(start_in(running, start, paths[0].port))
            loads = {}
            for name in bench.options.loads:
                load = LOADS[name]
                loads[name] = {"title": load[0], "target": load[-1],
                               "samples": one_load(bench, load, paths)}
                say(report.load_text({"cpu": {name: loads[name]}}))
            return loads, {peer.name: peer.memory_kib("VmHWM") for peer in paths[1:]}
    finally:
        os.sched_setaffinity(0, before)


def measure_cpu(bench, results):
    # On one core there is one way to place the processes. On several, the kernel's choice differs
    # from run to run and decides more about the cost of a wake-up than any proxy does.
    one = {max(os.sched_getaffinity(0))}
    results["cpu"], results["peak_kib"] = measure_loads(bench, one)


def measure_all_cores(bench, results):
    results["cpu_all_cores"], _ = measure_loads(bench, os.sched_getaffinity(0))


def start_in(running, start, *arguments):
    peer = start(*arguments)
    running.callback(peer.stop)
    return peer


# --- the split writer -----------------------------------------------------------------------------


def split_sets(port, size, count):
    """Milliseconds per set of a client that writes header, value and CRLF apart, with Nagle's
    algorithm on: (p50, p99)."""
    value, times = b"x" * size, []
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        for i in range(SPLIT_WARMUP + count):
            start = time.perf_counter()
            client.sendall(b"set k%d 0 0 %d\r\n" % (i % 50, size))
            client.sendall(value)
            client.sendall(b"\r\n")
            reply = client.recv(64)
            times.append((time.perf_counter() - start) * 1e3)
            if reply != b"STORED\r\n":
                raise RuntimeError(f"port {port}: {reply!r}")
    times = sorted(times[SPLIT_WARMUP:])
    return times[len(times) // 2], times[int(len(times) * 0.99)]


def measure_stalls(bench, results):
    results["stalls"] = {}
    with contextlib.ExitStack() as running:
        direct = start_in(running, peers.memcached, bench.folder)
        starters = bench.starters()
        paths = [direct, start_in(running, starters.pop("floor"), direct.port),
                 start_in(running, peers.floor, bench.binary("floor_relay"), direct.port,
                          "floor --quickack", "--quickack")]
        paths += [start_in(running, start, direct.port) for start in starters.values()]
        for peer in paths:
            results["stalls"][peer.name] = {
                title: split_sets(peer.port, size, bench.options.split_sets)
                for title, size in SPLIT_SIZES.items()}
    say(report.stall_text(results))


# --- memory ---------------------------------------------------------------------------------------


def open_sessions(port, count):
    """That many connections, each of which has had one request answered."""
    clients = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(count)]
    for client in clients:
        client.sendall(b"get nothing\r\n")
    for client in clients:
        if client.recv(16) != b"END\r\n":
            raise RuntimeError(f"port {port} did not answer")
    return clients


def close_sessions(clients):
    for client in clients:
        # With a reset, so that no port stays taken for a minute.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()


def measure_idle(bench, results):
    """What idle sessions add to a fresh process that has served a few."""
    sessions = min(bench.options.idle, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3)
    results["idle"] = {}
    for name, start in bench.starters().items():
        with contextlib.ExitStack() as running:
            upstream = start_in(running, peers.memcached, bench.folder)
            peer = start_in(running, start, upstream.port)
            close_sessions(open_sessions(peer.port, 50))
            before = peer.memory_kib("VmRSS")
            clients = open_sessions(peer.port, sessions)
            added = peer.memory_kib("VmRSS") - before
            close_sessions(clients)
            results["idle"][name] = {"sessions": sessions, "added_kib": added}
    say(report.idle_text(results))


# --- a scrape -------------------------------------------------------------------------------------

TEN_COMMANDS = [  # (request, the end of its reply)
    (b"set n 0 0 1\r\n1\r\n", b"STORED\r\n"), (b"get n\r\n", b"END\r\n"),
    (b"gets n\r\n", b"END\r\n"), (b"add n 0 0 1\r\n1\r\n", b"NOT_STORED\r\n"),
    (b"incr n 1\r\n", b"2\r\n"), (b"touch n 0\r\n", b"TOUCHED\r\n"), (b"mg n v\r\n", b"2\r\n"),
    (b"ms n 1\r\n1\r\n", b"HD\r\n"), (b"version\r\n", b"\r\n"), (b"delete n\r\n", b"DELETED\r\n"),
]


def ask_everything(port):
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        for request, end in TEN_COMMANDS:
            client.sendall(request)
            reply = b""
            while not reply.endswith(end):
                more = client.recv(4096)
                if not more:
                    raise RuntimeError(f"{request!r}: {reply!r}")
                reply += more


def scrape(port):
    """(milliseconds, page)"""
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read()
    connection.close()
    return (time.perf_counter() - start) * 1e3, page


def measure_scrape(bench, results):
    name, path = next(iter(bench.ours.items()))
    with contextlib.ExitStack() as running:
        upstream = start_in(running, peers.memcached, bench.folder)
        proxy = start_in(running, peers.Mcscope, path, upstream.port, name, 2)
        run_load(bench, LOADS["get-c50"], proxy, with_cpu=False, store=True)
        for _ in range(20):  # sessions are spread evenly: every worker sees every command
            ask_everything(proxy.port)
        times, page = [], b""
        for _ in range(SCRAPES):
            took, page = scrape(proxy.admin_port)
            times.append(took)
        results["scrape"] = {"median_ms": statistics.median(times), "slowest_ms": max(times),
                             "lines": page.count(b"\n"), "bytes": len(page),
                             "rss_kib": proxy.memory_kib("VmRSS")}
    say(report.scrape_text(results))


def measure_recorder(bench, results):
    binary = bench.binary("metrics_bench")
    if not os.path.exists(binary):
        say("no metrics_bench here: the recorder's cost is left out")
        return
    done = subprocess.run([binary, "--benchmark_format=json", "--benchmark_min_time=0.2"],
                          capture_output=True, text=True, check=True, timeout=RUN_SECONDS)
    results["recorder"] = {run["name"]: {"time": run["cpu_time"], "unit": run["time_unit"]}
                           for run in json.loads(done.stdout)["benchmarks"]}
    say(report.recorder_text(results))


# --- all of it ------------------------------------------------------------------------------------


def say(text):
    print(text + "\n", file=sys.stderr, flush=True)


def revision():
    git = ["git", "-C", os.path.dirname(os.path.abspath(__file__))]
    try:
        head = subprocess.run([*git, "describe", "--always", "--dirty"], capture_output=True,
                              text=True, check=True, timeout=10)
        return head.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "of unknown revision"


def versions():
    found = {"memcached": peers.version("memcached", "-V")}
    for name, binary, flag in (("haproxy", "haproxy", "-v"), ("twemproxy", "nutcracker", "-V")):
        if peers.program(binary):
            found[name] = peers.version(binary, flag)
    return found


def names(known):
    def parse(text):
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)}: choose from {', '.join(known)}")
        return chosen
    return parse


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", help="the folder with floor_relay, closed_loop and mcscope")
    parser.add_argument("--mcscope", action="append", metavar="[NAME=]PATH",
                        help="another binary to measure; several are compared with each other")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--loads", type=names(LOADS), default=list(LOADS),
                        help=f"some of {','.join(LOADS)}")
    parser.add_argument("--tables", type=names(TABLES), default=list(TABLES),
                        help=f"some of {','.join(TABLES)}")
    parser.add_argument("--scale", type=float, default=1, help="of the number of requests")
    parser.add_argument("--idle", type=int, default=5000, help="idle sessions")
    parser.add_argument("--split_sets", type=int, default=60, help="sets per cell of the stalls")
    parser.add_argument("--json", metavar="FILE", help="write every number there")
    parser.add_argument("--markdown", action="store_true", help="print the tables once more, whole")
    parser.add_argument("--write", metavar="FILE", nargs="?", const="docs/BENCHMARKS.md",
                        help="put the tables in their places there (docs/BENCHMARKS.md)")
    return parser.parse_args()


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    results = {"machine": peers.machine(), "versions": versions(), "revision": revision(),
               "rounds": options.rounds}
    measures = {"cpu": measure_cpu, "all-cores": measure_all_cores, "stalls": measure_stalls,
                "idle": measure_idle, "scrape": measure_scrape, "recorder": measure_recorder}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        results["ours"] = list(bench.ours)
        for name in options.tables:
            measures[name](bench, results)
    texts = report.sections(results)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    if options.markdown:
        print("\n\n".join(texts.values()))
    if options.write:
        with open(options.write, "r+", encoding="utf-8") as file:
            page = report.replace_sections(file.read(), texts)
            file.seek(0)
            file.write(page)
            file.truncate()
        say(f"written to {options.write}")


if __name__ == "__main__":
    main()
