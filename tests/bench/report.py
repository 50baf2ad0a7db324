"""The cost benchmark's results as tables, in Markdown, and their place in docs/BENCHMARKS.md."""

import re
import statistics

MARK = "<!-- measured: {} -->"
END = "<!-- end of {} -->"


def table(heads, rows):
    """Markdown that also reads well as it is; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]

    def line(row):
        aligned = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        return "| " + " | ".join(aligned) + " |"

    rule = "|" + "|".join(["-" * (widths[0] + 2)] + ["-" * (w + 1) + ":" for w in widths[1:]]) + "|"
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def spread(values):
    """Median (lowest-highest)."""
    return (f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})")


def run_text(results):
    m = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return "\n".join([
        f"* mcscope {results['revision']}; {versions}",
        f"* {m['cores']} cores of {m['cpu']}{', virtual' if m['virtual'] else ''}, Linux "
        f"{m['kernel']} (TCP {m['congestion']}), everything over loopback",
        f"* {results['rounds']} rounds; load average of the machine before it began: "
        f"{m['load']:.1f}, which is what others were doing on it",
    ])


# --- CPU per request ------------------------------------------------------------------------------


def names_with_cpu(cpu):
    samples = next(iter(cpu.values()))["samples"]
    return [name for name, values in samples.items() if values["ratio"]]


def lowest_ratio(samples, name):
    """The cheapest round of a path over the floor's cheapest: what noise, which only adds, hid."""
    return min(samples[name]["cpu_us"]) / min(samples["floor"]["cpu_us"])


def ratio_rows(cpu, cell):
    names = [name for name in names_with_cpu(cpu) if name != "floor"]
    rows = [[load["title"], *[cell(load["samples"], name) for name in names],
             f"<= {load['target']:.2f}"] for load in cpu.values()]
    return table(["CPU per request, floor = 1", *names, "target"], rows)


def ratio_text(results):
    """One line per load, one column per path, beside the target."""
    return ratio_rows(results["cpu"], lambda samples, name: spread(samples[name]["ratio"]))


def all_cores_text(results):
    return ratio_rows(results["cpu_all_cores"], lambda samples, name: (
        f"{lowest_ratio(samples, name):.2f} / {statistics.median(samples[name]['ratio']):.2f}"))


def load_text(results):
    """Everything measured, one table for each load."""
    tables = []
    for load in results["cpu"].values():
        rows = []
        for name, values in load["samples"].items():
            cells = [f"{statistics.median(values['rps']):.0f}"]
            cells += [f"{statistics.median(values[key]):.0f}" for key in ("p50_us", "p99_us")]
            if values["ratio"]:
                cells += [spread(values["cpu_us"]), spread(values["ratio"]),
                          f"{lowest_ratio(load['samples'], name):.2f}"]
            else:
                cells += ["", "", ""]
            rows.append([name, *cells])
        heads = [load["title"], "requests/s", "p50 us", "p99 us", "CPU us/request", "to the floor",
                 "lowest to lowest"]
        tables.append(table(heads, rows))
    return "\n\n".join(tables)


def verdict_text(results):
    """What falls short, by the medians of this run."""
    short, noise = [], []
    for load in results["cpu"].values():
        samples = load["samples"]
        if "floor again" in samples:
            noise.append(abs(statistics.median(samples["floor again"]["ratio"]) - 1))
        for name in results["ours"]:
            ratio = statistics.median(samples[name]["ratio"])
            if ratio > load["target"]:
                short.append(f"* {load['title']}: {name} {ratio:.2f}, target {load['target']:.2f}")
    lines = short or ["* every load is within its target"]
    if noise:
        lines.append(f"* noise: a second floor differed from the first by up to {max(noise):.2f}")
    return "\n".join(lines)


def peak_text(results):
    return "Peak memory under these loads: " + ", ".join(
        f"{name} {kib / 1024:.1f} MiB" for name, kib in results["peak_kib"].items()) + "."


# --- the other measurements -----------------------------------------------------------------------


def milliseconds(value):
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def stall_text(results):
    stalls = results["stalls"]
    sizes = list(next(iter(stalls.values())))
    rows = [[name, *[" / ".join(map(milliseconds, cells[size])) for size in sizes]]
            for name, cells in stalls.items()]
    return table(["ms per set, p50 / p99", *sizes], rows)


def idle_text(results):
    rows = [[name, f"{idle['added_kib'] / 1024:.1f}",
             f"{idle['added_kib'] / idle['sessions']:.2f}"]
            for name, idle in results["idle"].items()]
    sessions = next(iter(results["idle"].values()))["sessions"]
    return table([f"{sessions} idle sessions", "MiB added", "KiB each"], rows)


def scrape_text(results):
    scrape = results["scrape"]
    return table(["mcscope, 2 workers, 10 commands seen", "measured", "target"], [
        ["resident memory, MiB", f"{scrape['rss_kib'] / 1024:.1f}", "< 40"],
        ["`GET /metrics`, ms, median", f"{scrape['median_ms']:.2f}", "< 10"],
        ["`GET /metrics`, ms, slowest", f"{scrape['slowest_ms']:.2f}", ""],
        ["lines of the page", scrape["lines"], ""],
        ["KiB of the page", f"{scrape['bytes'] / 1024:.0f}", ""],
    ])


def recorder_text(results):
    rows = [[name.replace("BM_", ""), f"{run['time']:.2f} {run['unit']}"]
            for name, run in results["recorder"].items()]
    return table(["`metrics_bench`", "CPU time each"], rows)


SECTIONS = {  # name: (what it needs, how it reads)
    "run": ("machine", run_text),
    "ratios": ("cpu", ratio_text),
    "verdict": ("cpu", verdict_text),
    "all-cores": ("cpu_all_cores", all_cores_text),
    "loads": ("cpu", load_text),
    "peak": ("peak_kib", peak_text),
    "stalls": ("stalls", stall_text),
    "idle": ("idle", idle_text),
    "scrape": ("scrape", scrape_text),
    "recorder": ("recorder", recorder_text),
}


def sections(results):
    """{name: text} of what was measured."""
    return {name: text(results) for name, (need, text) in SECTIONS.items() if results.get(need)}


def replace_sections(page, texts):
    """`page` with each text between its two marks; what was not measured stays."""
    for name, text in texts.items():
        mark, end = MARK.format(name), END.format(name)
        pattern = re.compile(re.escape(mark) + r".*?" + re.escape(end), re.S)
        if not pattern.search(page):
            raise ValueError(f"no {mark} ... {end} in the page")
        page = pattern.sub(lambda _: f"{mark}\n{text}\n{end}", page)  # pylint: disable=W0640
    return page
