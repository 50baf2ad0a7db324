// Checks a command line before abseil parses it, because abseil ends the process by itself, with
// status 1 and several lines, at the first thing it does not like.
#ifndef MCSCOPE_PROXY_ARGUMENTS_H_
#define MCSCOPE_PROXY_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace mcscope {

// Every argument is a known flag with a value (of string type, so that abseil takes any), and so is
// every line of a --flagfile. Errors: InvalidArgument with one line about the first that is not.
absl::Status CheckArguments(const std::vector<std::string>& arguments);

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_ARGUMENTS_H_
