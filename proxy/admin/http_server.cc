#include "proxy/admin/http_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mcscope::admin {
namespace {

constexpr int kMaxHeaderBytes = 16 << 10;
constexpr int kMaxBodyBytes = 64 << 10;
constexpr int kTimeoutSeconds = 10;

constexpr timeval kPause = {0, 100'000};

void PauseAccepting(evconnlistener* listener, void*) {
  evconnlistener_disable(listener);
  event_base_once(
      evconnlistener_get_base(listener), -1, EV_TIMEOUT,
      [](int, int16_t, void* paused) {
        evconnlistener_enable(static_cast<evconnlistener*>(paused));
      },
      listener, &kPause);
}

absl::string_view MethodOf(evhttp_request* request) {
  switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET:
    case EVHTTP_REQ_HEAD:
      return "GET";
    case EVHTTP_REQ_PUT:
      return "PUT";
    default:
      return "";
  }
}

}  // namespace

HttpExchange::HttpExchange(evhttp_request* request) : request_(request) {
  // evhttp frees the request together with a connection that the peer closes.
  evhttp_connection_set_closecb(
      evhttp_request_get_connection(request),
      [](evhttp_connection*, void* self) { static_cast<HttpExchange*>(self)->request_ = nullptr; },
      this);
}

HttpExchange::~HttpExchange() {
  if (request_ != nullptr) Send({500, kPlainText, "no reply\n"});
}

std::string HttpExchange::body() const {
  if (request_ == nullptr) return "";
  evbuffer* buffer = evhttp_request_get_input_buffer(request_);
  std::string body(evbuffer_get_length(buffer), '\0');
  evbuffer_copyout(buffer, body.data(), body.size());
  return body;
}

void HttpExchange::Send(const HttpReply& reply) {
  if (request_ == nullptr) return;
  evhttp_request* const request = std::exchange(request_, nullptr);
  evhttp_connection_set_closecb(evhttp_request_get_connection(request), nullptr, nullptr);
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", reply.content_type.c_str());
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evbuffer* body = evbuffer_new();
  if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
    // evhttp would send the body all the same, and leave out its length.
    evhttp_add_header(headers, "Content-Length", absl::StrCat(reply.body.size()).c_str());
  } else {
    evbuffer_add(body, reply.body.data(), reply.body.size());
  }
  evhttp_send_reply(request, reply.status, nullptr, body);
  evbuffer_free(body);
}

HttpServer::HttpServer(io::Loop* loop, io::Socket listening)
    : http_(evhttp_new(loop->base())), socket_(std::move(listening)) {
  evhttp_set_max_headers_size(http_, kMaxHeaderBytes);
  evhttp_set_max_body_size(http_, kMaxBodyBytes);
  evhttp_set_timeout(http_, kTimeoutSeconds);
  // All of them, so that it is this server which says that one is not allowed.
  evhttp_set_allowed_methods(http_, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
                                        EVHTTP_REQ_POST | EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH |
                                        EVHTTP_REQ_OPTIONS);
  evhttp_set_gencb(
      http_,
      [](evhttp_request* request, void* self) {
        static_cast<HttpServer*>(self)->Dispatch(request);
      },
      this);
  // Without a handler, libevent's listener spins while there are no descriptors.
  evhttp_bound_socket* const bound = evhttp_accept_socket_with_handle(http_, socket_.fd());
  evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), PauseAccepting);
}

HttpServer::~HttpServer() {
  socket_.Release();  // evhttp closes what it accepts on
  evhttp_free(http_);
}

void HttpServer::Handle(absl::string_view method, absl::string_view path, Handler handler) {
  handlers_[std::string(path)][std::string(method)] = std::move(handler);
}

void HttpServer::Dispatch(evhttp_request* request) {
  const auto exchange = std::make_shared<HttpExchange>(request);
  const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
  const char* path = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  const auto found = handlers_.find(path == nullptr || *path == '\0' ? "/" : path);
  if (found == handlers_.end()) {
    return exchange->Send({404, kPlainText, "no such path; / lists them\n"});
  }
  const auto handler = found->second.find(std::string(MethodOf(request)));
  if (handler == found->second.end()) {
    std::string allowed;
    for (const auto& [method, unused] : found->second) {
      absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", method);
    }
    evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", allowed.c_str());
    return exchange->Send({405, kPlainText, absl::StrCat("this path takes ", allowed, " only\n")});
  }
  handler->second(exchange);
}

}  // namespace mcscope::admin
