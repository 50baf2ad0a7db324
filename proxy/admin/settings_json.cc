#include "proxy/admin/settings_json.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace mcscope::admin {
namespace {

using nlohmann::json;

absl::StatusOr<std::string> Text(const json& value) {
  if (!value.is_string()) return absl::InvalidArgumentError("a string is wanted");
  return value.get<std::string>();
}

absl::StatusOr<bool> Switch(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  const absl::StatusOr<std::string> text = Text(value);
  if (!text.ok()) return absl::InvalidArgumentError("on or off is wanted");
  return ParseOnOff(*text);
}

absl::StatusOr<int> Percent(const json& value) {
  if (!value.is_number_integer()) return absl::InvalidArgumentError("a whole number is wanted");
  return ParsePercent(value.dump());
}

template <typename T, typename U>
absl::Status Store(absl::StatusOr<T> parsed, U* target) {
  if (!parsed.ok()) return parsed.status();
  *target = *std::move(parsed);
  return absl::OkStatus();
}

template <typename T, typename Parse>
absl::Status StoreText(const json& value, Parse parse, T* target) {
  const absl::StatusOr<std::string> text = Text(value);
  return text.ok() ? Store(parse(*text), target) : text.status();
}

absl::Status SetMember(const std::string& name, const json& value, Settings* settings) {
  if (name == "nodelay") return Store(Switch(value), &settings->treatments.nodelay);
  if (name == "coalesce") return Store(Switch(value), &settings->treatments.coalesce);
  if (name == "quickack") return Store(Switch(value), &settings->treatments.quickack);
  if (name == "ab") return StoreText(value, Overrides::Parse, &settings->ab);
  if (name == "ab_percent") return Store(Percent(value), &settings->ab_percent);
  if (name == "log_level") return StoreText(value, ParseLogLevel, &settings->log_level);
  return absl::InvalidArgumentError("there is no such setting");
}

}  // namespace

std::string SettingsToJson(const Settings& settings, JsonLayout layout) {
  nlohmann::ordered_json object;
  object["nodelay"] = std::string(OnOff(settings.treatments.nodelay));
  object["coalesce"] = std::string(OnOff(settings.treatments.coalesce));
  object["quickack"] = std::string(OnOff(settings.treatments.quickack));
  object["ab"] = settings.ab.ToString();
  object["ab_percent"] = settings.ab_percent;
  object["log_level"] = std::string(Name(settings.log_level));
  return layout == JsonLayout::kOneLine ? object.dump() : object.dump(2) + "\n";
}

absl::StatusOr<Settings> SettingsFromJson(absl::string_view text, const Settings& current) {
  const json object = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::InvalidArgumentError("the body is not a JSON object like {\"coalesce\": \"off\"}");
  }
  Settings settings = current;
  for (const auto& [name, value] : object.items()) {
    const absl::Status status = SetMember(name, value, &settings);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
  }
  return settings;
}

}  // namespace mcscope::admin
