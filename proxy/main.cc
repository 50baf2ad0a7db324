// The composition root: options -> server -> admin -> run.
#include <csignal>
#include <cstdio>
#include <cstring>

#include "proxy/admin/admin_server.h"
#include "proxy/options.h"
#include "proxy/server.h"
#include "proxy/settings.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace mcscope {
namespace {

constexpr int kExitUnusableAddress = 1;
constexpr int kExitBadFlag = 2;

bool Asked(int argc, char** argv, const char* flag) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) return true;
  }
  return false;
}

int Fail(const absl::Status& status, int exit_status) {
  std::fprintf(stderr, "mcscope: %s\n", std::string(status.message()).c_str());
  return exit_status;
}

void SetLogLevel(const Settings& settings) {
  spdlog::set_level(spdlog::level::from_str(std::string(Name(settings.log_level))));
}

void Announce(const Server& server, const admin::AdminServer& admin_server) {
  for (const Server::RouteView& route : server.routes()) {
    std::printf("mcscope: route %s listens on %s, upstream %s\n", route.name.c_str(),
                route.listen.ToString().c_str(), route.upstream.ToString().c_str());
  }
  std::printf("mcscope: admin listens on http://%s\nmcscope: ready\n",
              admin_server.address().c_str());
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  if (Asked(argc, argv, "--help")) return std::fputs(HelpText().c_str(), stdout) < 0;
  if (Asked(argc, argv, "--version")) return std::printf("mcscope %s\n", MCSCOPE_VERSION) < 0;
  std::signal(SIGPIPE, SIG_IGN);  // a peer that went away is an errno, not a signal
  spdlog::set_default_logger(spdlog::stderr_logger_mt("mcscope"));

  const absl::StatusOr<Options> options = ParseOptions(argc, argv);
  if (!options.ok()) return Fail(options.status(), kExitBadFlag);
  SettingsStore settings(options->settings);
  SetLogLevel(options->settings);
  settings.Observe(SetLogLevel);

  const auto server = Server::Create(*options, &settings);
  if (!server.ok()) return Fail(server.status(), kExitUnusableAddress);
  const auto admin_server = admin::AdminServer::Create(*options, server->get(), &settings);
  if (!admin_server.ok()) return Fail(admin_server.status(), kExitUnusableAddress);

  Announce(**server, **admin_server);
  (*server)->Run();
  return 0;
}

}  // namespace
}  // namespace mcscope

int main(int argc, char** argv) { return mcscope::Main(argc, argv); }
