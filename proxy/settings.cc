#include "proxy/settings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proxy/io/digits.h"

namespace mcscope {
namespace {

constexpr std::array<std::pair<absl::string_view, LogLevel>, 4> kLogLevels = {{
    {"debug", LogLevel::kDebug},
    {"info", LogLevel::kInfo},
    {"warning", LogLevel::kWarning},
    {"error", LogLevel::kError},
}};

}  // namespace

absl::StatusOr<bool> ParseOnOff(absl::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is neither on nor off"));
}

absl::string_view OnOff(bool on) { return on ? "on" : "off"; }

absl::StatusOr<int> ParsePercent(absl::string_view text) {
  uint64_t percent = 0;
  if (!io::ParseDigits(text, 100, &percent)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a whole number from 0 to 100"));
  }
  return static_cast<int>(percent);
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text) {
  for (const auto& [name, level] : kLogLevels) {
    if (text == name) return level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not one of debug, info, warning, error"));
}

absl::string_view Name(LogLevel level) { return kLogLevels[static_cast<size_t>(level)].first; }

absl::StatusOr<Overrides> Overrides::Parse(absl::string_view text) {
  Overrides overrides;
  if (text.empty()) return overrides;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    absl::optional<bool>* target = parts.first == "nodelay"    ? &overrides.nodelay
                                   : parts.first == "coalesce" ? &overrides.coalesce
                                   : parts.first == "quickack" ? &overrides.quickack
                                                               : nullptr;
    if (target == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", item, "' is not nodelay=, coalesce= or quickack= with on or off"));
    }
    if (target->has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("'", parts.first, "' is given twice"));
    }
    absl::StatusOr<bool> value = ParseOnOff(parts.second);
    if (!value.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(parts.first, ": ", value.status().message()));
    }
    *target = *value;
  }
  return overrides;
}

std::string Overrides::ToString() const {
  std::vector<std::string> items;
  if (nodelay) items.push_back(absl::StrCat("nodelay=", OnOff(*nodelay)));
  if (coalesce) items.push_back(absl::StrCat("coalesce=", OnOff(*coalesce)));
  if (quickack) items.push_back(absl::StrCat("quickack=", OnOff(*quickack)));
  return absl::StrJoin(items, ",");
}

metrics::Arm Settings::ArmOf(int lot) const {
  return ab.any() && lot < ab_percent ? metrics::Arm::kB : metrics::Arm::kA;
}

Treatments Settings::TreatmentsOf(metrics::Arm arm) const {
  if (arm == metrics::Arm::kA) return treatments;
  return {ab.nodelay.value_or(treatments.nodelay), ab.coalesce.value_or(treatments.coalesce),
          ab.quickack.value_or(treatments.quickack)};
}

SettingNumbers Numbers(const Settings& settings) {
  const Treatments b = settings.TreatmentsOf(metrics::Arm::kB);
  return {{
      {"nodelay", settings.treatments.nodelay},
      {"coalesce", settings.treatments.coalesce},
      {"quickack", settings.treatments.quickack},
      {"ab", settings.ab.any()},
      {"ab_percent", settings.ab_percent},
      {"ab_nodelay", b.nodelay},
      {"ab_coalesce", b.coalesce},
      {"ab_quickack", b.quickack},
      {"log_level", static_cast<double>(settings.log_level)},
  }};
}

Settings SettingsStore::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settings_;
}

void SettingsStore::Set(const Settings& settings) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const SettingNumbers before = Numbers(settings_), after = Numbers(settings);
    for (size_t i = 0; i < kSettingCount; ++i) {
      if (before[i].second != after[i].second) ++changes_[i];
    }
    settings_ = settings;
  }
  for (const Observer& observer : observers_) observer(settings);
}

std::array<uint64_t, kSettingCount> SettingsStore::Changes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return changes_;
}

}  // namespace mcscope
