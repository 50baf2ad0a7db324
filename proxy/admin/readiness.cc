#include "proxy/admin/readiness.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace mcscope::admin {

// One connect to one upstream. Keeps its check alive until it has ended.
class ReadinessCheck::Probe final : private io::StreamHandler {
 public:
  Probe(std::shared_ptr<ReadinessCheck> check, std::string what)
      : check_(std::move(check)), what_(std::move(what)), stream_(check_->loop_, this) {}

  void Start(const io::SocketAddress& upstream, absl::Duration timeout) {
    const int error = stream_.Connect(upstream, timeout);
    if (error != 0) End(error);
  }

 private:
  void OnReadable() override {}
  void OnFlushed(size_t, int) override {}
  void OnConnected(int error) override { End(error); }

  // A stream may not be destroyed in its own callback: the rest is for a later turn.
  void End(int error) {
    stream_.Close(/*reset=*/false);
    check_->loop_->Post(
        [check = std::move(check_), what = what_, error] { check->Ended(what, error); });
  }

  std::shared_ptr<ReadinessCheck> check_;
  std::string what_;
  io::Stream stream_;
};

ReadinessCheck::ReadinessCheck(io::Loop* loop, Done done) : loop_(loop), done_(std::move(done)) {}

ReadinessCheck::~ReadinessCheck() = default;

void ReadinessCheck::Start(io::Loop* loop, const Upstreams& upstreams, absl::Duration timeout,
                           Done done) {
  const std::shared_ptr<ReadinessCheck> check(new ReadinessCheck(loop, std::move(done)));
  check->under_way_ = upstreams.size();
  for (const auto& [name, upstream] : upstreams) {
    check->probes_.push_back(
        std::make_unique<Probe>(check, absl::StrCat(name, " ", upstream.ToString())));
  }
  for (size_t i = 0; i < upstreams.size(); ++i) {
    check->probes_[i]->Start(upstreams[i].second, timeout);
  }
}

void ReadinessCheck::Ended(const std::string& what, int error) {
  ready_ = ready_ && error == 0;
  absl::StrAppend(&report_, what, " ", error == 0 ? "ok" : std::strerror(error), "\n");
  if (--under_way_ == 0) done_(ready_, report_);
}

}  // namespace mcscope::admin
