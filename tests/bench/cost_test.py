#!/usr/bin/python3
"""The cost benchmark from end to end, on next to no requests: every number comes out. How large the
numbers are is not judged.

Usage: cost_test.py FOLDER_WITH_THE_PROGRAMS
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "BENCHMARKS.md")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import report  # noqa: E402  (found through the line above)

binaries = ""


class CostBenchmarkTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            page, numbers = (os.path.join(folder, name) for name in ("page.md", "numbers.json"))
            shutil.copyfile(PAGE, page)
            subprocess.run(
                ["/usr/bin/python3", os.path.join(HERE, "cost.py"), binaries, "--rounds=1",
                 "--scale=0.005", "--idle=50", "--split_sets=2", f"--write={page}",
                 f"--json={numbers}"], check=True, timeout=150, stderr=subprocess.DEVNULL)
            with open(numbers, encoding="utf-8") as file:
                cls.results = json.load(file)
            with open(page, encoding="utf-8") as file:
                cls.page = file.read()

    def test_every_load_is_measured_on_every_path(self):
        self.assertEqual(len(self.results["cpu"]), 5)
        for load in self.results["cpu"].values():
            samples = load["samples"]
            self.assertLessEqual({"direct", "floor", "floor again", "mcscope"}, set(samples))
            for path, values in samples.items():
                for key in ("rps", "p50_us", "p99_us"):
                    self.assertGreater(values[key][0], 0, (path, key))
                if path != "direct":
                    self.assertGreater(values["cpu_us"][0], 0, path)
                    self.assertGreater(values["ratio"][0], 0, path)
            self.assertEqual(samples["floor"]["ratio"], [1])

    def test_the_split_writer_is_measured_on_every_path_and_size(self):
        self.assertLessEqual({"direct", "floor", "floor --quickack", "mcscope"},
                             set(self.results["stalls"]))
        for sizes in self.results["stalls"].values():
            self.assertEqual(len(sizes), 3)
            for p50, p99 in sizes.values():
                self.assertGreater(p50, 0)
                self.assertGreaterEqual(p99, p50)

    def test_memory_and_the_scrape_are_measured(self):
        self.assertEqual(self.results["idle"]["mcscope"]["sessions"], 50)
        self.assertGreater(self.results["peak_kib"]["mcscope"], 0)
        for key in ("rss_kib", "median_ms", "lines", "bytes"):
            self.assertGreater(self.results["scrape"][key], 0, key)

    def test_the_page_has_a_place_for_every_table(self):
        for name, text in report.sections(self.results).items():
            self.assertIn(f"{report.MARK.format(name)}\n{text}\n{report.END.format(name)}",
                          self.page)

    def test_what_was_not_measured_stays_in_the_page(self):
        mark, end = report.MARK.format("idle"), report.END.format("idle")
        page = f"before\n{mark}\nold\n{end}\nafter\n"
        self.assertEqual(report.replace_sections(page, {}), page)
        self.assertEqual(report.replace_sections(page, {"idle": "new"}),
                         page.replace("old", "new"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    binaries = sys.argv.pop()
    unittest.main()
