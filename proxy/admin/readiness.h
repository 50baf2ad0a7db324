// Asks each upstream for a connection, when somebody wants to know; it says nothing to memcached
// and keeps nothing open.
//
// Owner: the admin server; its loop's thread. Ends before the loop does; who waits then is not
// told.
#ifndef MCSCOPE_PROXY_ADMIN_READINESS_H_
#define MCSCOPE_PROXY_ADMIN_READINESS_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "proxy/io/address.h"
#include "proxy/io/loop.h"

namespace mcscope::admin {

class Readiness {
 public:
  // By route name.
  using Upstreams = std::vector<std::pair<std::string, io::SocketAddress>>;
  // Whether all accepted, and a line for each route: "NAME ADDRESS ok" or the reason why not.
  using Done = std::function<void(bool ready, const std::string& report)>;

  // `timeout` bounds each connect.
  Readiness(io::Loop* loop, Upstreams upstreams, absl::Duration timeout);
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // Connects to all; `done` is called once, in a later turn.
  void Check(Done done);

 private:
  class Probe;
  struct Round;

  void Finish(Round* round);

  io::Loop* loop_;
  const Upstreams upstreams_;
  const absl::Duration timeout_;
  std::list<std::unique_ptr<Round>> rounds_;  // under way
};

}  // namespace mcscope::admin

#endif  // MCSCOPE_PROXY_ADMIN_READINESS_H_
