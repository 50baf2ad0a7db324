// The closed sets of label values that are the proxy's own; commands and results are protocol's.
#ifndef MCSCOPE_METRICS_LABELS_H_
#define MCSCOPE_METRICS_LABELS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace mcscope::metrics {

enum class Arm : uint8_t { kA, kB };
inline constexpr size_t kArmCount = 2;
absl::string_view Name(Arm arm);

enum class Side : uint8_t { kClient, kUpstream };
inline constexpr size_t kSideCount = 2;
absl::string_view Name(Side side);

// Why a session ended; the `cause` label.
enum class CloseCause : uint8_t {
  kClientClosed,         // the app closed in good order
  kClientReset,          // the app reset the connection, or writing to it failed
  kUpstreamClosed,       // memcached closed in good order
  kUpstreamReset,        // memcached reset the connection, or writing to it failed
  kUpstreamRefused,      // connect: ECONNREFUSED, or no such unix socket
  kUpstreamUnreachable,  // connect: any other errno
  kConnectTimeout,       // connect took longer than --connect_timeout
  kSessionLimit,         // over --max_sessions
  kDescriptorLimit,      // no file descriptor for the upstream side
  kDrain,                // the proxy is shutting down
};
inline constexpr size_t kCloseCauseCount = static_cast<size_t>(CloseCause::kDrain) + 1;
absl::string_view Name(CloseCause cause);

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_LABELS_H_
