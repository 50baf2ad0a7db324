// What may change while the proxy runs: the treatments, the A/B split and the log level.
//
// Settings is a value; whoever needs it holds a copy. SettingsStore is the one place that changes
// it; any thread may call it.
#ifndef MCSCOPE_PROXY_SETTINGS_H_
#define MCSCOPE_PROXY_SETTINGS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "metrics/recorder.h"

namespace mcscope {

// What the proxy does for (or withholds from) the sessions of an arm.
struct Treatments {
  bool nodelay = true;
  bool coalesce = true;
  bool quickack = true;
};

// What arm b does differently; what is not set is as in arm a.
struct Overrides {
  absl::optional<bool> nodelay;
  absl::optional<bool> coalesce;
  absl::optional<bool> quickack;

  // From `coalesce=off,quickack=off`; empty text: none. Errors: InvalidArgument with the reason.
  static absl::StatusOr<Overrides> Parse(absl::string_view text);
  std::string ToString() const;
  bool any() const { return nodelay || coalesce || quickack; }
};

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

struct Settings {
  Treatments treatments;  // of arm a, which is every session's without a split
  Overrides ab;           // a split is on when it overrides anything
  int ab_percent = 50;    // of the sessions, to arm b
  LogLevel log_level = LogLevel::kInfo;

  // The arm of a session that drew `lot` in [0, 100).
  metrics::Arm ArmOf(int lot) const;
  Treatments TreatmentsOf(metrics::Arm arm) const;
};

absl::StatusOr<bool> ParseOnOff(absl::string_view text);
absl::string_view OnOff(bool on);
absl::StatusOr<int> ParsePercent(absl::string_view text);
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text);
absl::string_view Name(LogLevel level);

// The settings as numbers under their metric names, in a fixed order.
inline constexpr size_t kSettingCount = 9;
using SettingNumbers = std::array<std::pair<absl::string_view, double>, kSettingCount>;
SettingNumbers Numbers(const Settings& settings);

class SettingsStore {
 public:
  using Observer = std::function<void(const Settings&)>;

  explicit SettingsStore(const Settings& initial) : settings_(initial) {}

  Settings Get() const;

  // Replaces the settings, counts what changed, and tells the observers.
  void Set(const Settings& settings);

  // `observer` is called on the thread of each Set(), from now on. Set-up time only.
  void Observe(Observer observer) { observers_.push_back(std::move(observer)); }

  // How often each of Numbers() has changed since start, in its order.
  std::array<uint64_t, kSettingCount> Changes() const;

 private:
  mutable std::mutex mutex_;  // guards the two below
  Settings settings_;
  std::array<uint64_t, kSettingCount> changes_ = {};
  std::vector<Observer> observers_;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_SETTINGS_H_
