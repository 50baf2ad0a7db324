#include "proxy/options.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proxy/arguments.h"
#include "proxy/io/digits.h"

// All flags are strings: what is wrong with a value is said here, in one line, and not by abseil.
ABSL_FLAG(std::string, listen, "127.0.0.1:11212",
          "where apps connect: host:port, [v6]:port or unix:/path; port 0 picks a free one");
ABSL_FLAG(std::string, upstream, "127.0.0.1:11211",
          "the memcached behind it: host:port, [v6]:port or unix:/path");
ABSL_FLAG(std::string, routes, "",
          "several pairs in one process instead of --listen and --upstream: "
          "name=LISTEN,UPSTREAM;name=LISTEN,UPSTREAM; the name is the `route` label");
ABSL_FLAG(std::string, admin, "127.0.0.1:9151",
          "where /metrics, /settings, /legs.json, /healthz and /readyz are served: host:port");
ABSL_FLAG(std::string, threads, "cores",
          "worker threads, 1 to 256; `cores` is one for each processor this process may use");
ABSL_FLAG(std::string, nodelay, "on", "TCP_NODELAY on both of the proxy's sockets: on or off");
ABSL_FLAG(std::string, coalesce, "on",
          "hold an incomplete request and send it on in one write: on or off");
ABSL_FLAG(std::string, quickack, "on",
          "acknowledge at once what leaves a request or reply incomplete, so that a peer with "
          "Nagle's algorithm sends the rest: on or off");
ABSL_FLAG(std::string, ab, "",
          "what sessions of arm b get instead, e.g. coalesce=off,quickack=off; empty: no split");
ABSL_FLAG(std::string, ab_percent, "50", "the share of sessions in arm b while --ab is set");
ABSL_FLAG(std::string, hold_limit, "64KiB",
          "the most bytes of an incomplete request to hold (0 to 1MiB; B, KiB or MiB); a larger "
          "one is streamed");
ABSL_FLAG(std::string, connect_timeout, "2s",
          "how long a connection to memcached may take, e.g. 500ms (1ms to 1h)");
ABSL_FLAG(std::string, drain_timeout, "30s",
          "how long SIGTERM or SIGINT waits for exchanges in flight (0s to 1h)");
ABSL_FLAG(std::string, max_sessions, "0",
          "client connections at a time; one more is accepted and closed; 0: what the limit of "
          "open files allows, and more wait to be accepted");
ABSL_FLAG(std::string, buckets, mcscope::metrics::kDefaultBuckets,
          "upper edges of the Prometheus histograms of durations");
ABSL_FLAG(std::string, log_level, "info", "debug, info, warning or error; the log is stderr");

namespace mcscope {
namespace {

constexpr int kMaxThreads = 256;
constexpr size_t kMaxHold = 1 << 20;
constexpr uint64_t kMaxSessions = uint64_t{1} << 31;

// The status of a flag's value, with the flag's name in front.
absl::Status Wrong(absl::string_view flag, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", reason));
}

// Puts a parsed value where it belongs, or tells which flag it was that failed.
template <typename T, typename U>
absl::Status Store(absl::string_view flag, absl::StatusOr<T> parsed, U* target) {
  if (!parsed.ok()) return Wrong(flag, parsed.status().message());
  *target = *std::move(parsed);
  return absl::OkStatus();
}

absl::StatusOr<int> ParseThreads(absl::string_view text) {
  if (text == "cores") {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return 1;
    return std::clamp(CPU_COUNT(&cpus), 1, kMaxThreads);
  }
  uint64_t threads = 0;
  if (!io::ParseDigits(text, kMaxThreads, &threads) || threads == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is neither `cores` nor a whole number from 1 to 256"));
  }
  return static_cast<int>(threads);
}

absl::StatusOr<size_t> ParseCount(absl::string_view text) {
  uint64_t count = 0;
  if (!io::ParseDigits(text, kMaxSessions, &count)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number of sessions"));
  }
  return static_cast<size_t>(count);
}

absl::StatusOr<size_t> ParseSize(absl::string_view text) {
  absl::string_view digits = text;
  uint64_t unit = 1;
  if (absl::ConsumeSuffix(&digits, "KiB")) {
    unit = 1 << 10;
  } else if (absl::ConsumeSuffix(&digits, "MiB")) {
    unit = 1 << 20;
  } else {
    absl::ConsumeSuffix(&digits, "B");
  }
  uint64_t number = 0;
  if (!io::ParseDigits(digits, kMaxHold, &number) || number * unit > kMaxHold) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a size from 0 to 1MiB, like 4096, 64KiB or 1MiB"));
  }
  return static_cast<size_t>(number * unit);
}

absl::StatusOr<absl::Duration> ParseTime(absl::string_view text, absl::Duration least) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration < least || duration > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a time from ",
                                                   absl::FormatDuration(least),
                                                   " to 1h, like 500ms or 2s"));
  }
  return duration;
}

// Port 0 is the kernel's to fill in where we listen; nobody can be reached there.
absl::StatusOr<io::Address> ParseUpstream(absl::string_view text) {
  absl::StatusOr<io::Address> address = io::Address::Parse(text);
  if (address.ok() && !address->is_unix() && address->port() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': nobody can be reached at port 0"));
  }
  return address;
}

absl::StatusOr<RouteOptions> ParseRoute(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> named =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::pair<absl::string_view, absl::string_view> pair =
      absl::StrSplit(named.second, absl::MaxSplits(',', 1));
  RouteOptions route;
  route.name = std::string(named.first);
  route.listen_flag = route.upstream_flag = "--routes";
  const bool good_name = !route.name.empty() && route.name.size() <= 64 &&
                         std::all_of(route.name.begin(), route.name.end(), [](unsigned char c) {
                           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
                         });
  if (!good_name || pair.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not name=LISTEN,UPSTREAM with a name of letters, digits, _ - and ."));
  }
  absl::Status status = Store("", io::Address::Parse(pair.first), &route.listen);
  if (status.ok()) status = Store("", ParseUpstream(pair.second), &route.upstream);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(route.name, absl::StripPrefix(status.message(), "--")));
  }
  return route;
}

absl::StatusOr<std::vector<RouteOptions>> ParseRoutes(absl::string_view text) {
  std::vector<RouteOptions> routes;
  for (absl::string_view item : absl::StrSplit(text, ';')) {
    absl::StatusOr<RouteOptions> route = ParseRoute(item);
    if (!route.ok()) return route.status();
    for (const RouteOptions& other : routes) {
      if (other.name == route->name) {
        return absl::InvalidArgumentError(absl::StrCat("two routes are named '", other.name, "'"));
      }
    }
    routes.push_back(*std::move(route));
  }
  return routes;
}

bool IsSet(absl::string_view flag) {
  const absl::CommandLineFlag* found = absl::FindCommandLineFlag(flag);
  return found->CurrentValue() != found->DefaultValue();
}

absl::Status ReadRoutes(Options* options) {
  const std::string routes = absl::GetFlag(FLAGS_routes);
  if (!routes.empty()) {
    if (IsSet("listen") || IsSet("upstream")) {
      return Wrong("routes", "takes the place of --listen and --upstream; give one or the other");
    }
    return Store("routes", ParseRoutes(routes), &options->routes);
  }
  RouteOptions route;
  route.name = "default";
  route.listen_flag = "--listen";
  route.upstream_flag = "--upstream";
  absl::Status status =
      Store("listen", io::Address::Parse(absl::GetFlag(FLAGS_listen)), &route.listen);
  status.Update(Store("upstream", ParseUpstream(absl::GetFlag(FLAGS_upstream)), &route.upstream));
  options->routes.push_back(std::move(route));
  return status;
}

absl::Status ReadSettings(Settings* settings) {
  Treatments& treatments = settings->treatments;
  absl::Status status =
      Store("nodelay", ParseOnOff(absl::GetFlag(FLAGS_nodelay)), &treatments.nodelay);
  status.Update(Store("coalesce", ParseOnOff(absl::GetFlag(FLAGS_coalesce)), &treatments.coalesce));
  status.Update(Store("quickack", ParseOnOff(absl::GetFlag(FLAGS_quickack)), &treatments.quickack));
  status.Update(Store("ab", Overrides::Parse(absl::GetFlag(FLAGS_ab)), &settings->ab));
  status.Update(
      Store("ab_percent", ParsePercent(absl::GetFlag(FLAGS_ab_percent)), &settings->ab_percent));
  status.Update(
      Store("log_level", ParseLogLevel(absl::GetFlag(FLAGS_log_level)), &settings->log_level));
  return status;
}

absl::Status ReadLimits(Options* options) {
  absl::Status status =
      Store("threads", ParseThreads(absl::GetFlag(FLAGS_threads)), &options->threads);
  status.Update(
      Store("hold_limit", ParseSize(absl::GetFlag(FLAGS_hold_limit)), &options->limits.hold_limit));
  status.Update(Store("connect_timeout",
                      ParseTime(absl::GetFlag(FLAGS_connect_timeout), absl::Milliseconds(1)),
                      &options->limits.connect_timeout));
  status.Update(Store("drain_timeout",
                      ParseTime(absl::GetFlag(FLAGS_drain_timeout), absl::ZeroDuration()),
                      &options->drain_timeout));
  status.Update(
      Store("max_sessions", ParseCount(absl::GetFlag(FLAGS_max_sessions)), &options->max_sessions));
  status.Update(Store("buckets", metrics::BucketBounds::Parse(absl::GetFlag(FLAGS_buckets)),
                      &options->buckets));
  return status;
}

}  // namespace

std::string HelpText() {
  std::string text =
      "mcscope: a transparent memcached proxy that times every leg of every request.\n\n"
      "Usage: mcscope [--flag=value ...]\n\n"
      "Point apps at --listen instead of memcached, and Prometheus at --admin.\n\nFlags:\n";
  std::vector<std::string> flags;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (!absl::EndsWith(flag->Filename(), "proxy/options.cc")) continue;
    flags.push_back(
        absl::StrCat("  --", name, "=", flag->DefaultValue(), "\n      ", flag->Help(), "\n"));
  }
  std::sort(flags.begin(), flags.end());
  for (const std::string& flag : flags) text += flag;
  absl::StrAppend(&text,
                  "  --flagfile=PATH\n      read flags from a file, one --flag=value a line\n"
                  "  --help, --version\n\n"
                  "SIGTERM and SIGINT finish the exchanges in flight, then exit 0; a second one "
                  "ends at once.\n"
                  "Exit status: 0 after a drain, 1 an address can't be used, 2 a bad flag.\n");
  return text;
}

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  absl::Status status = CheckArguments(std::vector<std::string>(argv + 1, argv + argc));
  if (!status.ok()) return status;
  absl::ParseCommandLine(argc, argv);
  Options options;
  status = ReadRoutes(&options);
  status.Update(Store("admin", io::Address::Parse(absl::GetFlag(FLAGS_admin)), &options.admin));
  if (status.ok() && options.admin.is_unix()) status = Wrong("admin", "takes host:port only");
  status.Update(ReadSettings(&options.settings));
  status.Update(ReadLimits(&options));
  if (!status.ok()) return status;
  return options;
}

}  // namespace mcscope
