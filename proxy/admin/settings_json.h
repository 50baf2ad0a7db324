// The settings as the JSON of /settings.
#ifndef MCSCOPE_PROXY_ADMIN_SETTINGS_JSON_H_
#define MCSCOPE_PROXY_ADMIN_SETTINGS_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proxy/settings.h"

namespace mcscope::admin {

// One object; switches as "on" or "off", like the flags. In one line (for the log) or several.
enum class JsonLayout { kOneLine, kIndented };
std::string SettingsToJson(const Settings& settings, JsonLayout layout);

// `current` with the members of the JSON object `text` put in its place; true and false are taken
// for "on" and "off". Errors: InvalidArgument with the reason (no JSON, an unknown member, a value
// out of range); then nothing of `text` counts.
absl::StatusOr<Settings> SettingsFromJson(absl::string_view text, const Settings& current);

}  // namespace mcscope::admin

#endif  // MCSCOPE_PROXY_ADMIN_SETTINGS_JSON_H_
