// Asks each upstream for a connection, when somebody wants to know; it says nothing to memcached
// and keeps nothing open.
#ifndef MCSCOPE_PROXY_ADMIN_READINESS_H_
#define MCSCOPE_PROXY_ADMIN_READINESS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "proxy/io/address.h"
#include "proxy/io/loop.h"
#include "proxy/io/stream.h"

namespace mcscope::admin {

// One round of connects, alive until all of them have ended.
class ReadinessCheck : public std::enable_shared_from_this<ReadinessCheck> {
 public:
  // By route name.
  using Upstreams = std::vector<std::pair<std::string, io::SocketAddress>>;
  // Whether all accepted, and a line for each route: "NAME ADDRESS ok" or the reason why not.
  using Done = std::function<void(bool ready, const std::string& report)>;

  // `done` is called once, in a later turn of `loop`.
  static void Start(io::Loop* loop, const Upstreams& upstreams, absl::Duration timeout, Done done);
  ~ReadinessCheck();

 private:
  class Probe;

  ReadinessCheck(io::Loop* loop, Done done);
  void Ended(const std::string& what, int error);

  io::Loop* loop_;
  Done done_;
  std::vector<std::unique_ptr<Probe>> probes_;
  size_t under_way_ = 0;
  bool ready_ = true;
  std::string report_;
};

}  // namespace mcscope::admin

#endif  // MCSCOPE_PROXY_ADMIN_READINESS_H_
