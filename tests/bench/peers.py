"""The processes that the cost benchmark compares: memcached itself and what may stand before it.
All on 127.0.0.1, each on a port of its own, one thread each unless said otherwise."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time

START_SECONDS = 15


class Peer:
    """A running process that speaks memcached's protocol on `port`. Stop it with stop()."""

    def __init__(self, name, command, find_port, **popen):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **popen)
        try:
            self.port = self._wait_for(lambda: find_port(self.process))
            self._wait_for(self._accepts)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self.process.pid

    def _wait_for(self, condition):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            value = condition()
            if value:
                return value
            time.sleep(0.02)
        raise RuntimeError(f"{self.name} did not start: {self.process.args}")

    def _accepts(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def memory_kib(self, field):
        """VmRSS (now) or VmHWM (its peak)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"{field}:\s+(\d+) kB", file.read()).group(1))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


def free_port():
    """For those that can't pick one themselves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def memcached(folder):
    os.chmod(folder, 0o1777)
    port_file = os.path.join(folder, "memcached.port")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(port_file)  # an earlier one's

    def port(_):
        try:
            with open(port_file, encoding="ascii") as file:
                found = re.search(r"TCP INET: (\d+)\n", file.read())
                return found and int(found.group(1))
        except OSError:
            return None

    return Peer("direct", ["memcached", "-l", "127.0.0.1", "-p", "-1", "-U", "0", "-t", "1",
                           "-m", "512", "-c", "12000"], port,
                env={**os.environ, "MEMCACHED_PORT_FILENAME": port_file},
                user="nobody" if os.geteuid() == 0 else None)


def floor(binary, upstream, name="floor", *flags):
    return Peer(name, [binary, str(upstream), *flags],
                lambda process: int(process.stdout.readline() or 0), stdout=subprocess.PIPE)


class Mcscope(Peer):

    def __init__(self, binary, upstream, name="mcscope", threads=1):
        super().__init__(name, [binary, "--listen=127.0.0.1:0", "--admin=127.0.0.1:0",
                                f"--upstream=127.0.0.1:{upstream}", f"--threads={threads}",
                                "--log_level=warning"],
                         self._read_ports, stdout=subprocess.PIPE, text=True)

    def _read_ports(self, process):
        listen, self.admin_port = 0, 0
        for line in process.stdout:
            if found := re.search(r" listens on 127\.0\.0\.1:(\d+), upstream ", line):
                listen = int(found.group(1))
            elif found := re.search(r"admin listens on http://127\.0\.0\.1:(\d+)", line):
                self.admin_port = int(found.group(1))
            elif line == "mcscope: ready\n":
                break
        return listen


HAPROXY = """global
 nbthread 1
 maxconn 8000
defaults
 mode tcp
 timeout client 1m
 timeout server 1m
 timeout connect 2s
listen memcached
 bind 127.0.0.1:{listen}
 server one 127.0.0.1:{upstream}
"""

TWEMPROXY = """pool:
  listen: 127.0.0.1:{listen}
  hash: fnv1a_64
  distribution: modula
  servers:
   - 127.0.0.1:{upstream}:1
"""


def _from_file(name, folder, text, upstream, command):
    listen = free_port()
    path = os.path.join(folder, name + ".conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(text.format(listen=listen, upstream=upstream))
    return Peer(name, [*command, path], lambda _: listen,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def haproxy(folder, upstream):
    return _from_file("haproxy", folder, HAPROXY, upstream, [program("haproxy"), "-db", "-f"])


def twemproxy(folder, upstream):
    return _from_file("twemproxy", folder, TWEMPROXY, upstream,
                      [program("nutcracker"), "-s", str(free_port()), "-a", "127.0.0.1", "-c"])


def program(name):
    """Its path, None when it isn't installed; Debian puts daemons where users don't look."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def version(name, flag):
    done = subprocess.run([program(name), flag], capture_output=True, text=True, check=False,
                          timeout=10)
    found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
    return found.group(0) if found else "?"


def others():
    """{name: how to start it (folder, upstream)} of the other proxies installed here."""
    known = {"haproxy": ("haproxy", haproxy), "twemproxy": ("nutcracker", twemproxy)}
    return {name: start for name, (binary, start) in known.items() if program(binary)}


def machine():
    """What a reader must know of the machine and of the moment."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpuinfo = file.read()
    with open("/proc/sys/net/ipv4/tcp_congestion_control", encoding="ascii") as file:
        congestion = file.read().strip()
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    return {
        "cpu": model.group(1) if model else os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "virtual": re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.M) is not None,
        "kernel": os.uname().release.split("-")[0],
        "congestion": congestion,
        "load": os.getloadavg()[0],
    }
