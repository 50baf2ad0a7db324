#include "proxy/admin/readiness.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "proxy/io/stream.h"

namespace mcscope::admin {

// One connect to one upstream. `ended` is called once, perhaps from within Start().
class Readiness::Probe final : private io::StreamHandler {
 public:
  Probe(io::Loop* loop, std::function<void(int error)> ended)
      : ended_(std::move(ended)), stream_(loop, this) {}

  void Start(const io::SocketAddress& upstream, absl::Duration timeout) {
    const int error = stream_.Connect(upstream, timeout);
    if (error != 0) ended_(error);
  }

 private:
  void OnReadable() override {}
  void OnFlushed(size_t, int) override {}
  void OnConnected(int error) override {
    stream_.Close(/*reset=*/false);
    ended_(error);
  }

  std::function<void(int)> ended_;
  io::Stream stream_;
};

// The probes that answer one question.
struct Readiness::Round {
  Done done;
  std::vector<std::unique_ptr<Probe>> probes;
  size_t under_way = 0;
  bool ready = true;
  std::string report;
};

Readiness::Readiness(io::Loop* loop, Upstreams upstreams, absl::Duration timeout)
    : loop_(loop), upstreams_(std::move(upstreams)), timeout_(timeout) {}

Readiness::~Readiness() = default;

void Readiness::Check(Done done) {
  rounds_.push_back(std::make_unique<Round>());
  Round* const round = rounds_.back().get();
  round->done = std::move(done);
  round->under_way = upstreams_.size();
  for (const auto& [name, upstream] : upstreams_) {
    const std::string what = absl::StrCat(name, " ", upstream.ToString());
    round->probes.push_back(std::make_unique<Probe>(loop_, [this, round, what](int error) {
      round->ready = round->ready && error == 0;
      absl::StrAppend(&round->report, what, " ", error == 0 ? "ok" : std::strerror(error), "\n");
      // A stream may not be destroyed in its own callback: that is for a later turn.
      if (--round->under_way == 0) loop_->Post([this, round] { Finish(round); });
    }));
  }
  for (size_t i = 0; i < upstreams_.size(); ++i) {
    round->probes[i]->Start(upstreams_[i].second, timeout_);
  }
}

void Readiness::Finish(Round* round) {
  const Done done = std::move(round->done);
  const bool ready = round->ready;
  const std::string report = std::move(round->report);
  rounds_.remove_if([round](const auto& other) { return other.get() == round; });
  done(ready, report);
}

}  // namespace mcscope::admin
