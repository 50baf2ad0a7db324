// A tiny blocking HTTP client: one request, one connection.
#ifndef MCSCOPE_TESTS_SUPPORT_HTTP_H_
#define MCSCOPE_TESTS_SUPPORT_HTTP_H_

#include <map>
#include <string>

#include "tests/support/endpoint.h"

namespace mcscope::test {

struct HttpResponse {
  int status = 0;                              // 0: no answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

HttpResponse HttpRequest(const Endpoint& endpoint, const std::string& method,
                         const std::string& target, const std::string& body = "");

// For a query's value.
std::string UrlEncoded(const std::string& text);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_HTTP_H_
