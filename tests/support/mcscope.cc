#include "tests/support/mcscope.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <regex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tests/support/wait.h"

namespace mcscope::test {
namespace {

// "127.0.0.1:40123" or "unix:/path", as the start-up lines have it.
Endpoint ParseEndpoint(const std::string& text) {
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "unix:")) return UnixPath(std::string(path));
  int port = 0;
  if (!absl::SimpleAtoi(text.substr(text.rfind(':') + 1), &port)) std::abort();
  return Port(static_cast<uint16_t>(port));
}

Command CommandLine(std::string binary, const Endpoint& upstream,
                    const std::vector<std::string>& flags) {
  Command command;
  command.argv = {std::move(binary), "--listen=127.0.0.1:0", "--upstream=" + upstream.ToString(),
                  "--admin=127.0.0.1:0", "--threads=2"};
  command.argv.insert(command.argv.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace

Mcscope::Mcscope(std::string binary, const Endpoint& upstream,
                 const std::vector<std::string>& flags) {
  Start(CommandLine(std::move(binary), upstream, flags));
}

Mcscope::Mcscope(std::string binary, const Command& command) {
  Command whole = command;
  whole.argv.insert(whole.argv.begin(), std::move(binary));
  whole.argv.emplace_back("--admin=127.0.0.1:0");
  Start(whole);
}

Mcscope::~Mcscope() { ExpectCleanStop(); }

void Mcscope::Start(const Command& command) {
  process_ = std::make_unique<Subprocess>(command);
  if (process_->WaitForLine("mcscope: ready\n", kPatience).empty()) {
    std::cerr << "mcscope did not start:\n" << process_->Stdout() << process_->Stderr();
    std::abort();
  }
  const std::string lines = process_->Stdout();
  const std::regex route("mcscope: route (\\S+) listens on ([^\\s,]+), upstream (\\S+)\n");
  for (std::sregex_iterator it(lines.begin(), lines.end(), route), end; it != end; ++it) {
    routes_[(*it)[1]] = ParseEndpoint((*it)[2]);
  }
  std::smatch match;
  if (std::regex_search(lines, match, std::regex("admin listens on http://(\\S+)\n"))) {
    admin_ = ParseEndpoint(match[1]);
  }
}

Endpoint Mcscope::endpoint(const std::string& route) const {
  const auto found = routes_.find(route);
  if (found == routes_.end()) std::abort();
  return found->second;
}

void Mcscope::Set(const std::string& settings_json) const {
  const HttpResponse response = Put("/settings", settings_json);
  EXPECT_EQ(response.status, 200) << settings_json << ": " << response.body;
}

bool Mcscope::WaitForMetric(const std::string& name, const Labels& labels, double value) const {
  return Eventually([&] { return Metrics().Sum(name, labels) >= value; });
}

void Mcscope::ExpectMetric(const std::string& name, const Labels& labels, double value) const {
  WaitForMetric(name, labels, value);
  std::string text = name;
  for (const auto& [label, wanted] : labels) text += " " + label + "=" + wanted;
  EXPECT_EQ(Metrics().Sum(name, labels), value) << text;
}

void Mcscope::ExpectCleanStop() {
  if (std::exchange(stopped_, true)) return;
  EXPECT_TRUE(process_->Running()) << "mcscope ended by itself:\n" << process_->Stderr();
  EXPECT_TRUE(Eventually([this] { return Metrics().Sum("mcscope_sessions") == 0; }))
      << "sessions are left: " << Metrics().Sum("mcscope_sessions");
  process_->Signal(SIGTERM);
  const absl::optional<int> status = process_->Wait(kPatience);
  EXPECT_TRUE(status.has_value()) << "SIGTERM did not end it";
  EXPECT_EQ(status.value_or(0), 0) << process_->Stderr();
}

}  // namespace mcscope::test
