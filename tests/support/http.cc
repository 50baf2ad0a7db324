#include "tests/support/http.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/support/tcp_client.h"

namespace mcscope::test {
namespace {

std::string Unchunked(absl::string_view chunks) {
  std::string body;
  for (;;) {
    const size_t line_end = chunks.find("\r\n");
    if (line_end == absl::string_view::npos) return body;
    const size_t size = std::strtoul(std::string(chunks.substr(0, line_end)).c_str(), nullptr, 16);
    if (size == 0 || chunks.size() < line_end + 4 + size) return body;
    absl::StrAppend(&body, chunks.substr(line_end + 2, size));
    chunks.remove_prefix(line_end + 4 + size);
  }
}

HttpResponse Parse(const std::string& text) {
  HttpResponse response;
  const size_t head_end = text.find("\r\n\r\n");
  if (head_end == std::string::npos) return response;
  const std::vector<std::string> lines = absl::StrSplit(text.substr(0, head_end), "\r\n");
  const std::vector<std::string> status_line = absl::StrSplit(lines[0], ' ');
  if (status_line.size() < 2 || !absl::SimpleAtoi(status_line[1], &response.status)) return {};
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    response.headers[absl::AsciiStrToLower(header.first)] =
        std::string(absl::StripAsciiWhitespace(header.second));
  }
  response.body = text.substr(head_end + 4);
  if (response.headers["transfer-encoding"] == "chunked") response.body = Unchunked(response.body);
  return response;
}

}  // namespace

HttpResponse HttpRequest(const Endpoint& endpoint, const std::string& method,
                         const std::string& target, const std::string& body) {
  Fd fd = ConnectTo(endpoint);
  if (!fd.valid()) return {};
  TcpClient client(std::move(fd));
  std::string request = absl::StrCat(
      method, " ", target, " HTTP/1.1\r\nHost: ", endpoint.ToString(), "\r\nConnection: close\r\n");
  if (!body.empty()) absl::StrAppend(&request, "Content-Length: ", body.size(), "\r\n");
  absl::StrAppend(&request, "\r\n", body);
  client.Send(request);
  client.ReadToEnd();
  return Parse(client.received());
}

std::string UrlEncoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      encoded.push_back(c);
    } else {
      absl::StrAppend(&encoded, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return encoded;
}

}  // namespace mcscope::test
