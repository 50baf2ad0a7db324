// The proxy under test, as its users run it.
#ifndef MCSCOPE_TESTS_SUPPORT_MCSCOPE_H_
#define MCSCOPE_TESTS_SUPPORT_MCSCOPE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/endpoint.h"
#include "tests/support/exposition.h"
#include "tests/support/http.h"
#include "tests/support/subprocess.h"

namespace mcscope::test {

class Mcscope {
 public:
  // Listens on free loopback ports in front of `upstream`, with `flags` added to the command line;
  // ready when the constructor is through. `binary` is the program to run.
  Mcscope(std::string binary, const Endpoint& upstream, const std::vector<std::string>& flags = {});
  // With this very command line; `--admin` on a free port is all that is added.
  Mcscope(std::string binary, const Command& command);
  // Expects a clean stop, unless the test stopped it by itself.
  ~Mcscope();
  Mcscope(const Mcscope&) = delete;
  Mcscope& operator=(const Mcscope&) = delete;

  // Where apps connect.
  Endpoint endpoint(const std::string& route = "default") const;
  const Endpoint& admin() const { return admin_; }
  Subprocess& process() { return *process_; }

  HttpResponse Get(const std::string& target) const { return HttpRequest(admin_, "GET", target); }
  HttpResponse Put(const std::string& target, const std::string& body) const {
    return HttpRequest(admin_, "PUT", target, body);
  }
  Exposition Metrics() const { return Exposition(Get("/metrics").body); }
  // Changes settings and expects them to be accepted.
  void Set(const std::string& settings_json) const;

  // Waits until the metric's sum over `labels` is at least `value`: what a worker counts can be a
  // moment behind what a client sees.
  bool WaitForMetric(const std::string& name, const Labels& labels, double value) const;
  // Waits likewise, and expects that it is exactly that.
  void ExpectMetric(const std::string& name, const Labels& labels, double value) const;

  // Expects that no session is left, that SIGTERM ends it with status 0, and that it logged nothing
  // like a crash. Called by the destructor.
  void ExpectCleanStop();
  // For a test that ended it in a way of its own: the destructor then expects nothing.
  void AlreadyStopped() { stopped_ = true; }

 private:
  void Start(const Command& command);

  std::map<std::string, Endpoint> routes_;
  Endpoint admin_;
  std::unique_ptr<Subprocess> process_;
  bool stopped_ = false;
};

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_MCSCOPE_H_
