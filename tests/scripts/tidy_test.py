"""The house rules, each shown one source that keeps it and one that breaks it."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts"))
sys.dont_write_bytecode = True
import tidy  # noqa: E402  (found through the line above)


def findings(path, text):
    return [(number, message) for _, number, message in tidy.findings([tidy.Source(path, text)])]


def include(header):
    return f"#include {header}\n"


def guarded(path, body):
    guard = "MCSCOPE_" + path.upper().replace("/", "_").replace(".", "_") + "_"
    return f"#ifndef {guard}\n#define {guard}\n{body}#endif\n"


class TidyTest(unittest.TestCase):

    def assert_clean(self, path, text):
        self.assertEqual(findings(path, text), [])

    def assert_found(self, path, text, line, part):
        found = findings(path, text)
        self.assertEqual([number for number, _ in found], [line], found)
        self.assertIn(part, found[0][1])

    def test_a_source_may_have_400_lines_a_header_200_and_main_120(self):
        self.assert_clean("proxy/link.cc", "int a;\n" * 400)
        self.assert_found("proxy/link.cc", "int a;\n" * 401, 401, "401 lines")
        self.assert_clean("proxy/link.h", guarded("proxy/link.h", "int a;\n" * 197))
        self.assert_found("proxy/link.h", guarded("proxy/link.h", "int a;\n" * 198), 201, "200")
        self.assert_found("proxy/main.cc", "int a;\n" * 121, 121, "120")
        self.assert_clean("tests/proxy/link_test.cc", "int a;\n" * 1000)

    def test_a_line_may_have_100_columns(self):
        self.assert_clean("proxy/link.cc", "x" * 100 + "\n")
        self.assert_found("proxy/link.cc", "int a;\n" + "x" * 101 + "\n", 2, "101 columns")

    def test_a_function_may_have_70_lines_wherever_it_stands(self):
        body = "  Do();\n" * 69
        self.assert_clean("proxy/a.cc", "void F() {\n" + "  Do();\n" * 68 + "}\n")
        self.assert_found("proxy/a.cc", "void F() {\n" + body + "}\n", 1, "71 lines")
        self.assert_found("proxy/a.cc",
                          "namespace mcscope {\nclass C {\n  void F()\n      const {\n" + body +
                          "}\n};\n}\n", 3, "72 lines")
        self.assert_found("tests/a_test.cc", "TEST(A, B) {\n" + body + "}\n", 1, "71 lines")

    def test_tables_types_and_namespaces_may_be_long(self):
        self.assert_clean("proxy/a.cc", "constexpr int kTable[] = {\n" + "  F(1),\n" * 90 + "};\n")
        self.assert_clean("proxy/a.cc",
                          "namespace a {\nclass B {\n" + "  int c;\n" * 90 + "};\n}\n")

    def test_braces_in_literals_and_comments_do_not_count(self):
        opening = 'const char a = \'{\';  // {\nconst char* b = "{";\n/* { */\n'
        self.assert_clean("proxy/a.cc", opening + "void F() {\n}\n" + "int c;\n" * 90)
        self.assert_clean("proxy/a.cc", "const int a = 64'000;\nvoid F() {}\n" + "int b;\n" * 90)

    def test_unfinished_work_is_found(self):
        self.assert_found("proxy/a.cc", "// TO" + "DO: more\n", 1, "finish it")
        self.assert_found("dev", "# good enough for n" + "ow\n", 1, "finish it")
        self.assert_clean("proxy/a.cc", "// for nowhere is it said\n")

    def test_paths_of_one_machine_are_found(self):
        self.assert_found("docs/A.md", "see /wor" + "k/thing\n", 1, "one machine")
        self.assert_found("Dockerfile", "COPY /home" + "/me/x .\n", 1, "one machine")
        self.assert_clean("docs/A.md", "the project's .github/work/flows, build/root/x\n")

    def test_a_header_is_guarded_after_its_path(self):
        self.assert_clean("proxy/link.h", guarded("proxy/link.h", ""))
        self.assert_found("proxy/link.h", guarded("link.h", ""), 1, "MCSCOPE_PROXY_LINK_H_")

    def test_flags_are_read_in_options_only(self):
        text = "int a = absl::GetFlag(FLAGS_threads);\n"
        self.assert_clean("proxy/options.cc", text)
        self.assert_clean("tests/proxy/options_test.cc", text)
        self.assert_found("proxy/worker.cc", text, 1, "options")
        self.assert_clean("proxy/worker.cc", "// GetFlag is options' own\n")

    def test_a_lock_file_names_no_registry(self):
        self.assert_found("demo/package-lock.json", '{\n"resolved": "x"\n}\n', 2, "registry")
        self.assert_clean("demo/package-lock.json", '{\n"integrity": "x"\n}\n')

    def test_protocol_includes_std_and_absl_only(self):
        for header in ("<vector>", '"absl/strings/string_view.h"', '"protocol/command.h"'):
            self.assert_clean("protocol/framer.cc", include(header))
        for header in ("<chrono>", "<time.h>", '"absl/time/time.h"', "<spdlog/spdlog.h>",
                       "<prometheus/counter.h>"):
            self.assert_found("protocol/framer.cc", include(header), 1, "protocol may not include")

    def test_metrics_knows_no_socket(self):
        for header in ("<prometheus/collectable.h>", "<unistd.h>", '"protocol/command.h"'):
            self.assert_clean("metrics/collector.cc", include(header))
        for header in ("<sys/socket.h>", "<event2/event.h>", '"proxy/io/socket.h"'):
            self.assertTrue(findings("metrics/collector.cc", include(header)))

    def test_sockets_and_libevent_stand_at_the_rim(self):
        self.assert_clean("proxy/io/socket.cc", include("<sys/socket.h>"))
        self.assert_clean("proxy/io/loop.cc", include("<event2/event.h>"))
        self.assert_clean("proxy/admin/admin.cc", include("<event2/http.h>"))
        self.assert_found("proxy/session.cc", include("<event2/event.h>"), 1, "belongs in")
        self.assert_found("proxy/admin/admin.cc", include("<netinet/tcp.h>"), 1, "belongs in")

    def test_arrows_run_down_only(self):
        self.assert_clean("proxy/worker.cc", include('"proxy/session.h"'))
        self.assert_clean("proxy/session.cc", include('"proxy/link.h"'))
        self.assert_clean("proxy/main.cc", include('"proxy/admin/admin.h"'))
        for path, header in (("proxy/session.cc", "proxy/worker.h"),
                             ("proxy/worker.cc", "proxy/server.h"),
                             ("proxy/server.cc", "proxy/admin/admin.h"),
                             ("proxy/io/loop.cc", "proxy/session.h")):
            self.assert_found(path, include(f'"{header}"'), 1, "arrows run down only")
        self.assert_found("bench/main.cc", include('"proxy/link.h"'), 1, "bench stands beside")

    def test_headers_do_not_include_each_other(self):
        sources = [
            tidy.Source(f"proxy/{own}.h", guarded(f"proxy/{own}.h", include(f'"proxy/{other}.h"')))
            for own, other in (("a", "b"), ("b", "c"), ("c", "a"))
        ]
        found = list(tidy.findings(sources))
        self.assertEqual(len(found), 1, found)
        self.assertIn("proxy/a.h -> proxy/b.h -> proxy/c.h -> proxy/a.h", found[0][2])
        self.assertEqual(list(tidy.findings(sources[:2])), [])


if __name__ == "__main__":
    unittest.main()
