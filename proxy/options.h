// The command line: read once, checked, and handed on as plain values. The only file that knows the
// flags (see --help for what each means).
#ifndef MCSCOPE_PROXY_OPTIONS_H_
#define MCSCOPE_PROXY_OPTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "metrics/bucket_bounds.h"
#include "proxy/io/address.h"
#include "proxy/limits.h"
#include "proxy/settings.h"

namespace mcscope {

struct RouteOptions {
  std::string name;  // the `route` label
  io::Address listen;
  io::Address upstream;
  std::string listen_flag;    // which flag gave the address, for error lines: --listen or --routes
  std::string upstream_flag;  // likewise: --upstream or --routes
};

struct Options {
  std::vector<RouteOptions> routes;
  io::Address admin;
  int threads = 1;
  size_t max_sessions = 0;  // 0: as many as the file descriptors allow
  absl::Duration drain_timeout;
  SessionLimits limits;
  Settings settings;
  metrics::BucketBounds buckets = metrics::BucketBounds::Default();
};

// What `--help` prints: every flag with its default and meaning.
std::string HelpText();

// Reads the command line (and --flagfile). Errors: InvalidArgument with one line that names the
// flag and says what is wrong. `--help` and `--version` are the caller's.
absl::StatusOr<Options> ParseOptions(int argc, char** argv);

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_OPTIONS_H_
