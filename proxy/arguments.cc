#include "proxy/arguments.h"

#include <fstream>
#include <utility>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mcscope {
namespace {

constexpr int kMaxFlagfileDepth = 8;

// abseil brings flags of its own; mcscope's are those of its options, and --flagfile.
bool IsOurs(absl::string_view name) {
  const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  return flag != nullptr &&
         (name == "flagfile" || absl::EndsWith(flag->Filename(), "proxy/options.cc"));
}

absl::Status CheckAll(const std::vector<std::string>& arguments, absl::string_view where,
                      int depth);

absl::Status CheckFlagfile(const std::string& path, int depth) {
  if (depth > kMaxFlagfileDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("--flagfile: '", path, "' is nested more than ", kMaxFlagfileDepth, " deep"));
  }
  std::ifstream file(path);
  if (!file || (file.peek(), file.bad())) {  // a folder opens, but can't be read
    return absl::InvalidArgumentError(absl::StrCat("--flagfile: can't read '", path, "'"));
  }
  std::vector<std::string> arguments;
  for (std::string line; std::getline(file, line);) {
    if (absl::EndsWith(line, "\r")) {  // which abseil would leave in the value
      return absl::InvalidArgumentError(
          absl::StrCat("--flagfile: '", path, "' has lines that end in CR LF instead of LF"));
    }
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || absl::StartsWith(text, "#")) continue;
    if (text.find('=') == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--flagfile: '", path, "': '", text, "' is not --flag=value"));
    }
    arguments.emplace_back(text);
  }
  return CheckAll(arguments, absl::StrCat(" (in '", path, "')"), depth + 1);
}

absl::Status CheckAll(const std::vector<std::string>& arguments, absl::string_view where,
                      int depth) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view text = arguments[i];
    if (!absl::ConsumePrefix(&text, "--") && !absl::ConsumePrefix(&text, "-")) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", arguments[i], "' is not a flag; see --help", where));
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (text.empty() || !IsOurs(parts.first)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", arguments[i], "' is no flag of mcscope; see --help", where));
    }
    std::string value(parts.second);
    if (parts.first.size() == text.size()) {  // no '=': the value is the next argument
      // abseil would take the next flag for the value.
      if (i + 1 == arguments.size() || absl::StartsWith(arguments[i + 1], "--")) {
        return absl::InvalidArgumentError(absl::StrCat("--", parts.first, " wants a value", where));
      }
      value = arguments[++i];
    }
    if (parts.first == "flagfile") {
      absl::Status status = CheckFlagfile(value, depth);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArguments(const std::vector<std::string>& arguments) {
  return CheckAll(arguments, "", 0);
}

}  // namespace mcscope
