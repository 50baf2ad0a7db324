#!/usr/bin/env python3
"""The house rules that a compiler does not see. Prints `file:line: what and why`; exit status 1
when there is anything to print.

Usage: tidy.py [ROOT]    (default: the repository this script stands in)
"""

import os
import re
import subprocess
import sys

HEADER_LINES = 200
SOURCE_LINES = 400
MAIN_LINES = 120
FUNCTION_LINES = 70
COLUMNS = 100

CODE = (".h", ".cc", ".c")
TEXT = CODE + (".py", ".sh", ".js", ".css", ".html", ".cmake", ".txt", ".json", ".yml", ".yaml",
               ".md", ".conf", ".service")

# The floors, from the ground up: a file may include its own floor and those below. Paths without
# their extension; the first match counts. Files of proxy/ that are on no list share a floor with
# nobody: for those the include graph only has to be free of cycles.
FLOORS = [
    ("protocol", r"protocol/"),
    ("metrics", r"metrics/"),
    ("proxy/io", r"proxy/io/"),
    ("session, link, exchange", r"proxy/(session|link|exchange)"),
    ("worker", r"proxy/worker"),
    ("server", r"proxy/server"),
    ("proxy/admin", r"proxy/admin/"),
    ("main", r"proxy/main"),
]

SOCKET_HEADER = re.compile(
    r"sys/(socket|un|epoll|select|uio)\.h|netinet/.*|arpa/inet\.h|netdb\.h|poll\.h|net/.*")
LIBEVENT_HEADER = re.compile(r"event2/.*|event\.h|evhttp\.h")
CLOCK_HEADER = re.compile(r"chrono|ctime|time\.h|sys/time\.h|absl/time/.*")
STANDARD_HEADER = re.compile(r"[a-z_0-9]+")

# Spelled so that this file does not trip over itself.
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b|\bfor n[o]w\b|\bnot implemente[d]\b", re.I)
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:work|root|home/\w+)/\w")
FLAG_USE = re.compile(r"\b(ABSL_FLAG|ABSL_DECLARE_FLAG|GetFlag|SetFlag)\b")
FLAG_HOMES = ("proxy/options.cc", "bench/main.cc")
INCLUDE = re.compile(r'\s*#\s*include\s+([<"])([^>"]+)[>"]')


class Source:
    """One file: its lines as written, and without comments and the insides of literals."""

    def __init__(self, path, text):
        self.path = path
        self.lines = text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.is_code = path.endswith(CODE)
        self.bare = strip_code(text).split("\n") if self.is_code else self.lines

    def includes(self):
        """(line number, is it <...>, header) of every include."""
        for number, line in enumerate(self.lines, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1) == "<", match.group(2)


def strip_code(text):
    """`text` with comments and the contents of literals blanked, line structure kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)

    def blank(match):
        whole = match.group(0)
        if whole.startswith("/"):
            return re.sub(r"[^\n]", " ", whole)
        return whole[0] + re.sub(r"[^\n]", " ", whole[1:-1]) + whole[-1]

    return pattern.sub(blank, text)


def is_test(path):
    return path.startswith("tests/")


# --- rules about one file: each yields (line number, message) -------------------------------------


def check_size(source):
    if not source.is_code or is_test(source.path):
        return
    if source.path == "proxy/main.cc":
        limit = MAIN_LINES
    else:
        limit = HEADER_LINES if source.path.endswith(".h") else SOURCE_LINES
    if len(source.lines) > limit:
        yield limit + 1, f"{len(source.lines)} lines; at most {limit}, so that a file is one idea"


def check_columns(source):
    if not source.path.endswith(CODE + (".py", ".sh", ".js", ".css")):
        return
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns; at most {COLUMNS}"


def function_spans(source):
    """(first line, last line) of every function body that stands in a namespace or class."""
    stack = []  # (kind, first line)
    head, head_line = "", None
    for number, line in enumerate(source.bare, 1):
        if line.lstrip().startswith("#"):
            continue
        for char in line:
            if char == "{":
                kind = block_kind(head, [entry[0] for entry in stack])
                stack.append((kind, head_line or number))
            elif char == "}" and stack:
                kind, first = stack.pop()
                if kind == "function":
                    yield first, number
            if char in "{};":
                head, head_line = "", None
            elif not char.isspace() or head:
                head, head_line = head + char, head_line or number
        head += " "


def block_kind(head, outer):
    if any(kind not in ("namespace", "type") for kind in outer):
        return "inner"
    if re.search(r"\bnamespace\b|\bextern\b\s*\"", head):
        return "namespace"
    if re.search(r"\b(class|struct|union|enum)\b[^()]*$", head):
        return "type"
    if ")" in head and not re.search(r"=\s*$", head):
        return "function"
    return "inner"


def check_functions(source):
    if not source.is_code:
        return
    for first, last in function_spans(source):
        length = last - first + 1
        if length > FUNCTION_LINES:
            yield first, f"a function of {length} lines; at most {FUNCTION_LINES}"


def check_unfinished(source):
    for number, line in enumerate(source.lines, 1):
        match = UNFINISHED.search(line)
        if match:
            yield number, f"'{match.group(0)}': finish it, or file it as an issue"


def check_machine_paths(source):
    for number, line in enumerate(source.lines, 1):
        match = MACHINE_PATH.search(line)
        if match:
            yield number, f"'{match.group(0)}...' is a path of one machine"


def check_guard(source):
    if not source.path.endswith(".h"):
        return
    guard = "MCSCOPE_" + re.sub(r"[^A-Za-z0-9]", "_", source.path).upper() + "_"
    text = "\n".join(source.bare)
    if f"#ifndef {guard}\n#define {guard}\n" not in text + "\n":
        yield 1, f"no include guard {guard}"


def check_flags(source):
    if not source.is_code or is_test(source.path) or source.path in FLAG_HOMES:
        return
    for number, line in enumerate(source.bare, 1):
        match = FLAG_USE.search(line)
        if match:
            yield number, (f"{match.group(0)}: flags are read in {' and '.join(FLAG_HOMES)} only "
                           "and handed on as values")


def check_lock_file(source):
    if not source.path.endswith("package-lock.json"):
        return
    for number, line in enumerate(source.lines, 1):
        if '"resolved"' in line:
            yield number, "a registry's address; .npmrc says omit-lockfile-registry-resolved"


def check_ground_includes(source):
    """protocol and metrics stand on std, absl and what is below them."""
    own = next((name for name in ("protocol", "metrics") if source.path.startswith(name + "/")), "")
    if not own or not source.is_code:
        return
    for number, angled, header in source.includes():
        if header.startswith("prometheus/"):
            allowed = own == "metrics"
        elif angled:
            # Process metrics come from the kernel's own files and calls, not from sockets.
            allowed = bool(STANDARD_HEADER.fullmatch(header)) or (
                own == "metrics" and not SOCKET_HEADER.fullmatch(header)
                and not LIBEVENT_HEADER.fullmatch(header))
        else:
            allowed = header.startswith(("absl/", "protocol/", own + "/"))
        if own == "protocol" and CLOCK_HEADER.fullmatch(header):
            allowed = False
        if not allowed:
            yield number, f"{own} may not include {header}: it knows no socket, clock or log"


def check_socket_includes(source):
    if not source.is_code or is_test(source.path):
        return
    for number, _, header in source.includes():
        if LIBEVENT_HEADER.fullmatch(header):
            homes = ("proxy/io/", "proxy/admin/", "bench/")
        elif SOCKET_HEADER.fullmatch(header):
            homes = ("proxy/io/", "bench/")
        else:
            continue
        if not source.path.startswith(homes):
            yield number, f"{header} belongs in {' or '.join(homes)} only"


def check_floors(source):
    if not source.is_code or is_test(source.path):
        return
    own = floor_of(source.path)
    for number, angled, header in source.includes():
        other = None if angled else floor_of(header)
        if own is not None and other is not None and other > own:
            yield number, (f"{FLOORS[own][0]} includes {header} of the floor above "
                           f"({FLOORS[other][0]}): arrows run down only")
        if source.path.startswith("bench/") and header.startswith("proxy/"):
            yield number, f"{header}: bench stands beside the proxy, on protocol and metrics"


def floor_of(path):
    for index, (_, pattern) in enumerate(FLOORS):
        if re.match(pattern, path):
            return index
    return None


RULES = [
    check_size, check_columns, check_functions, check_unfinished, check_machine_paths, check_guard,
    check_flags, check_lock_file, check_ground_includes, check_socket_includes, check_floors,
]


# --- the rule about all files together ------------------------------------------------------------


def check_cycles(sources):
    """Yields (path, line, message) for one include of every cycle among the project's headers."""
    graph = {
        source.path: [(number, header) for number, angled, header in source.includes()
                      if not angled]
        for source in sources if source.path.endswith(".h")
    }
    done, trail = set(), []

    def visit(path):
        trail.append(path)
        for number, header in graph[path]:
            if header in trail:
                cycle = trail[trail.index(header):] + [header]
                yield path, number, "headers include each other: " + " -> ".join(cycle)
            elif header in graph and header not in done:
                yield from visit(header)
        done.add(trail.pop())

    for path in sorted(graph):
        if path not in done:
            yield from visit(path)


# --- running them ---------------------------------------------------------------------------------


def project_files(root):
    """What git knows and what is new but not ignored; a plain walk where there is no git."""
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = []
        for folder, names, files in os.walk(root):
            names[:] = [name for name in names if name not in ("build", "node_modules", ".git")]
            listed += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return sorted(path for path in set(listed) if path and is_text(path))


def is_text(path):
    name = os.path.basename(path)
    return path.endswith(TEXT) or "." not in name or name == "Dockerfile" or path == ".ci/run"


def read_sources(root):
    for path in project_files(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                yield Source(path, file.read())
        except (FileNotFoundError, UnicodeDecodeError):
            continue  # deleted but still listed, or not text after all


def findings(sources):
    sources = list(sources)
    for source in sources:
        for rule in RULES:
            for number, message in rule(source):
                yield source.path, number, message
    yield from check_cycles(sources)


def main(root):
    found = sorted(findings(read_sources(root)))
    for path, number, message in found:
        print(f"{path}:{number}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    default_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else default_root))
