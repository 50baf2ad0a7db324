#!/usr/bin/python3
"""The stall and its cure on real parts: a memcached, an mcscope whose treatments are switched while
it runs, and two clients as published. Prints what a set costs on each path and what /metrics said
of it. Exit status 1 unless the split writer's median falls at least 100-fold at 10 KiB.

Usage: demo.py MCSCOPE LIBMEMCACHED_CLIENT
"""

import bisect
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [(600, "600 B"), (10240, "10 KiB"), (102400, "100 KiB")]
PROOF_SIZE = 10240
PROOF_FALL = 100

# Sets per cell: a stalled one costs 44 ms, so few; the others are quick, so more of them.
STALLED_SETS = 50
QUICK_SETS = 400

TREATMENTS = ("nodelay", "coalesce", "quickack")
# (row, treatments that are on; None: straight to memcached, does the split writer stall?)
# With quickack alone it is the proxy that splits the write, Nagle's algorithm on, so the stall only
# moves on to memcached's side; the other two treatments are there to prevent that.
ROWS = [
    ("direct", None, True),
    ("mcscope, all off", (), True),
    ("mcscope, nodelay only", ("nodelay",), True),
    ("mcscope, coalesce only", ("coalesce",), True),
    ("mcscope, quickack only", ("quickack",), True),
    ("mcscope, all on", TREATMENTS, False),
]
LEGS = ("client_read", "request_queue", "upstream_wait", "upstream_read", "client_write")


class Memcached:
    """A memcached on a free port of its choice."""

    def __init__(self, folder):
        os.chmod(folder, 0o1777)
        port_file = os.path.join(folder, "port")
        self.process = subprocess.Popen(
            ["memcached", "-l", "127.0.0.1", "-p", "-1", "-U", "0"],
            env={**os.environ, "MEMCACHED_PORT_FILENAME": port_file},
            user="nobody" if os.geteuid() == 0 else None)
        self.port = wait_for(self.process, lambda: read_port(port_file))


def read_port(path):
    try:
        with open(path, encoding="ascii") as file:
            match = re.search(r"TCP INET: (\d+)\n", file.read())
            return int(match.group(1)) if match else None
    except OSError:
        return None


def wait_for(process, condition):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        value = condition()
        if value is not None:
            return value
        time.sleep(0.02)
    sys.exit(f"demo: {process.args[0]} did not start")


class Mcscope:
    """The proxy in front of it, spoken to as a person would: flags, /settings, /metrics."""

    def __init__(self, binary, upstream_port):
        self.process = subprocess.Popen(
            [binary, "--listen=127.0.0.1:0", f"--upstream=127.0.0.1:{upstream_port}",
             "--admin=127.0.0.1:0", "--threads=1",
             "--log_level=warning"], stdout=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line == "mcscope: ready\n":
                break
        text = "".join(lines)
        listen = re.search(r"listens on [^\s,]*:(\d+), upstream", text)
        admin = re.search(r"admin listens on http://[^\s]*:(\d+)", text)
        if not listen or not admin:
            sys.exit(f"demo: mcscope did not start\n{text}")
        self.port, self.admin_port = int(listen.group(1)), int(admin.group(1))

    def request(self, method, target, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=10)
        connection.request(method, target, body)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        if response.status != 200:
            sys.exit(f"demo: {method} {target}: {response.status} {text}")
        return text

    def switch(self, treatments_on):
        wanted = {name: name in treatments_on for name in TREATMENTS}
        self.request("PUT", "/settings", json.dumps(wanted))

    def scrape(self):
        """{(name, sorted label pairs): value} of every sample."""
        samples = {}
        for line in self.request("GET", "/metrics").splitlines():
            match = re.fullmatch(r"([a-zA-Z_:]\w*)(?:\{(.*)\})? (\S+)", line)
            if match:
                labels = tuple(sorted(re.findall(r'(\w+)="([^"]*)"', match.group(2) or "")))
                samples[match.group(1), labels] = float(match.group(3))
        return samples


class Change:
    """What counters and histograms gained between two scrapes."""

    def __init__(self):
        self.gained = {}

    def add(self, before, after):
        for sample, value in after.items():
            self.gained[sample] = self.gained.get(sample, 0) + value - before.get(sample, 0)

    def total(self, name, **labels):
        return sum(value for (own, pairs), value in self.gained.items()
                   if own == name and labels.items() <= dict(pairs).items())

    def median_bucket(self, name, **labels):
        """(lower, upper) edge of the bucket in which half of the observations are reached."""
        cumulative = {}
        for (own, pairs), value in self.gained.items():
            have = dict(pairs)
            if own == name + "_bucket" and labels.items() <= have.items():
                edge = float(have["le"])
                cumulative[edge] = cumulative.get(edge, 0) + value
        edges = sorted(cumulative)
        if not edges or not cumulative[edges[-1]]:
            return None
        at = bisect.bisect_left([cumulative[edge] for edge in edges], cumulative[edges[-1]] / 2)
        return (edges[at - 1] if at else 0.0), edges[at]


def run_client(command, port, size, count):
    done = subprocess.run([*command, str(port), str(size), str(count)], stdout=subprocess.PIPE,
                          text=True, check=False, timeout=60)
    if done.returncode != 0:
        sys.exit(f"demo: {' '.join(command)} failed with {size} bytes: {done.stdout}")
    return json.loads(done.stdout)


def settle(proxy):
    """A scrape that has everything of the client that just left: its session is closed."""
    deadline = time.monotonic() + 5
    while True:
        samples = proxy.scrape()
        open_sessions = sum(value for (name, _), value in samples.items()
                            if name == "mcscope_sessions")
        if open_sessions == 0 or time.monotonic() > deadline:
            return samples
        time.sleep(0.01)


def measure(command, splits, memcached, proxy):
    """({row: {size: client's report}}, {row: what the metrics gained})"""
    reports, changes = {}, {}
    for row, treatments, stalls in ROWS:
        count = STALLED_SETS if splits and stalls else QUICK_SETS
        if treatments is not None:
            proxy.switch(treatments)
            before = settle(proxy)
        port = memcached.port if treatments is None else proxy.port
        reports[row] = {size: run_client(command, port, size, count) for size, _ in SIZES}
        if treatments is not None:
            changes[row] = Change()
            changes[row].add(before, settle(proxy))
    return reports, changes


# --- telling it -----------------------------------------------------------------------------------


def milliseconds(value):
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def print_costs(reports, habit):
    name = next(iter(reports.values()))[SIZES[0][0]]["client"]
    print(f"\n{name}: {habit}")
    print("ms per set, p50 / p99".ljust(26) + "".join(label.rjust(18) for _, label in SIZES))
    for row, cells in reports.items():
        texts = (f"{milliseconds(cells[size]['p50_ms'])} / {milliseconds(cells[size]['p99_ms'])}"
                 for size, _ in SIZES)
        print(row.ljust(26) + "".join(text.rjust(18) for text in texts), flush=True)


def range_text(bucket):
    if bucket is None:
        return "-"
    low, high = (f"{edge * 1e3:g}" for edge in bucket)
    return f"{low}..{high} ms"


def print_metrics(changes):
    """Per set: stalls and in which leg, where the median of two legs lies, writes, quick ACKs."""
    print("\nWhat /metrics said of it, all three sizes together (100 KiB is over --hold_limit: it "
          "streams)")
    heads = ("stalls", "in leg", "client_read p50", "upstream_wait p50", "reads", "writes",
             "quick ACKs")
    widths = [max(len(head), 6) + 2 for head in heads]
    widths[1] = len("upstream_wait") + 2
    print("per set".ljust(24) + "".join(map(str.rjust, heads, widths)))
    for row, change in changes.items():
        sets = change.total("mcscope_requests_total", command="set")
        gets = change.total("mcscope_requests_total", command="get")
        stalls = {leg: change.total("mcscope_stalls_total", leg=leg) for leg in LEGS}
        legs = [range_text(change.median_bucket("mcscope_leg_duration_seconds", leg=leg,
                                                command="set"))
                for leg in ("client_read", "upstream_wait")]
        # A get is read at once and leaves in one write; what is left belongs to the sets.
        reads = change.total("mcscope_request_reads_sum") - gets
        writes = change.total("mcscope_writes_total", side="upstream") - gets
        quickacks = change.total("mcscope_quickacks_total", side="client")
        cells = (f"{sum(stalls.values()) / sets:.2f}",
                 " ".join(leg for leg in LEGS if stalls[leg]) or "-", *legs,
                 f"{reads / sets:.1f}", f"{writes / sets:.1f}", f"{quickacks / sets:.1f}")
        print(row.ljust(24) + "".join(map(str.rjust, cells, widths)))


def conclude(reports):
    """The closing sentence; returns the exit status."""
    off = reports["mcscope, all off"][PROOF_SIZE]["p50_ms"]
    on = reports["mcscope, all on"][PROOF_SIZE]["p50_ms"]
    fall = off / on
    print(f"\nThe split writer's median for a 10 KiB set fell {fall:.0f}-fold, from "
          f"{milliseconds(off)} ms to {milliseconds(on)} ms, by switching the treatments on; "
          "the application was not touched.")
    if fall < PROOF_FALL:
        print(f"That is less than the {PROOF_FALL}-fold that was to be shown.")
        return 1
    return 0


def main(binary, c_client):
    started = time.monotonic()
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            memcached = Memcached(folder)
            running.append(memcached.process)
            proxy = Mcscope(binary, memcached.port)
            running.append(proxy.process)
            npm = ["node", os.path.join(HERE, "clients", "npm", "client.js")]
            reports, changes = measure(npm, True, memcached, proxy)
            print_costs(reports, "header, value and CRLF in three writes, Nagle's algorithm on")
            print_metrics(changes)
            whole, _ = measure([c_client], False, memcached, proxy)
            print_costs(whole, "tells the kernel when more follows, so it never stalls; what the "
                               "proxy itself costs")
            status = conclude(reports)
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()
    print(f"(everything in {time.monotonic() - started:.0f} s)")
    return status


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    sys.exit(main(*sys.argv[1:]))
