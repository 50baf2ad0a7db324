// A small HTTP server over evhttp: paths, methods, replies, limits. It knows nothing of what is
// served.
//
// Owner: the admin server; its loop's thread.
#ifndef MCSCOPE_PROXY_ADMIN_HTTP_SERVER_H_
#define MCSCOPE_PROXY_ADMIN_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

struct evhttp;
struct evhttp_request;

namespace mcscope::admin {

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";
inline constexpr char kJson[] = "application/json; charset=utf-8";

struct HttpReply {
  int status = 200;
  std::string content_type = kPlainText;
  std::string body;
};

// One reply yet to be given, now or in a later turn. If the peer goes away first, the reply is
// dropped. Shared by whoever is to call Send(), once.
class HttpExchange {
 public:
  explicit HttpExchange(evhttp_request* request);
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  std::string body() const;
  void Send(const HttpReply& reply);

 private:
  evhttp_request* request_;  // null once answered or gone
};

class HttpServer {
 public:
  using Handler = std::function<void(const std::shared_ptr<HttpExchange>&)>;

  // Serves on `listening` from now on.
  HttpServer(io::Loop* loop, io::Socket listening);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `method` is GET (which answers HEAD too) or PUT.
  void Handle(absl::string_view method, absl::string_view path, Handler handler);

 private:
  void Dispatch(evhttp_request* request);

  evhttp* http_;
  io::Socket socket_;  // the listening one, until evhttp closes it at the end
  std::map<std::string, std::map<std::string, Handler>> handlers_;  // path, method
};

}  // namespace mcscope::admin

#endif  // MCSCOPE_PROXY_ADMIN_HTTP_SERVER_H_
