#include "metrics/labels.h"

namespace mcscope::metrics {

absl::string_view Name(Arm arm) { return arm == Arm::kA ? "a" : "b"; }

absl::string_view Name(Side side) { return side == Side::kClient ? "client" : "upstream"; }

absl::string_view Name(CloseCause cause) {
  switch (cause) {
    case CloseCause::kClientClosed:
      return "client_closed";
    case CloseCause::kClientReset:
      return "client_reset";
    case CloseCause::kUpstreamClosed:
      return "upstream_closed";
    case CloseCause::kUpstreamReset:
      return "upstream_reset";
    case CloseCause::kUpstreamRefused:
      return "upstream_refused";
    case CloseCause::kUpstreamUnreachable:
      return "upstream_unreachable";
    case CloseCause::kConnectTimeout:
      return "connect_timeout";
    case CloseCause::kSessionLimit:
      return "session_limit";
    case CloseCause::kDescriptorLimit:
      return "descriptor_limit";
    case CloseCause::kDrain:
      return "drain";
  }
  return "";
}

}  // namespace mcscope::metrics
