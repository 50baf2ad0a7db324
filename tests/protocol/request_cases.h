// Requests of all kinds, well-formed and not, and how each is framed: for the framer's own tests,
// and for those that ask the real memcached.
#ifndef MCSCOPE_TESTS_PROTOCOL_REQUEST_CASES_H_
#define MCSCOPE_TESTS_PROTOCOL_REQUEST_CASES_H_

#include <string>
#include <utility>
#include <vector>

#include "protocol/request.h"

namespace mcscope::protocol {

// Requests one after the other, and what each is (as Describe() puts it).
struct RequestCase {
  const char* name;
  std::vector<std::pair<std::string, std::string>> requests;
  Dialect dialect = Dialect::kText;
};

// Of the text protocol, and of the binary one.
std::vector<RequestCase> RequestCases();
std::vector<RequestCase> BinaryRequestCases();

std::string Times(char c, size_t count);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_TESTS_PROTOCOL_REQUEST_CASES_H_
