#include "proxy/admin/http_server.h"

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http.h"
#include "tests/support/tcp_client.h"

namespace mcscope::admin {
namespace {

using test::HttpRequest;
using test::HttpResponse;
using test::TcpClient;
using ::testing::HasSubstr;
using ::testing::Not;

// A server whose replies the test knows, on a loop and thread of its own.
class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    std::signal(SIGPIPE, SIG_IGN);  // as in the whole process
    io::Socket socket = *io::Socket::Listen(*io::Address::Parse("127.0.0.1:0")->Resolve());
    const std::string address = socket.LocalAddress().ToString();
    endpoint_ = test::Port(static_cast<uint16_t>(std::stoi(address.substr(10))));
    server_ = std::make_unique<HttpServer>(&loop_, std::move(socket));
    server_->Handle("GET", "/", Saying("index\n"));
    server_->Handle("GET", "/thing", Saying("a thing\n"));
    server_->Handle("PUT", "/thing", [](const std::shared_ptr<HttpExchange>& exchange) {
      exchange->Send({201, kJson, "put: " + exchange->body()});
    });
    server_->Handle("GET", "/large", Saying(std::string(4 << 20, 'x')));
    server_->Handle("GET", "/later", [this](const std::shared_ptr<HttpExchange>& exchange) {
      later_ = exchange;
      ++asked_later_;
    });
    server_->Handle("GET", "/forgotten", [](const std::shared_ptr<HttpExchange>&) {});
    server_->Handle("GET", "/twice", [](const std::shared_ptr<HttpExchange>& exchange) {
      exchange->Send({200, kPlainText, "first\n"});
      exchange->Send({200, kPlainText, "second\n"});
    });
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~HttpServerTest() override {
    loop_.Post([this] {
      later_.reset();
      loop_.Stop();
    });
    thread_.join();
  }

  static HttpServer::Handler Saying(std::string body) {
    return [body = std::move(body)](const std::shared_ptr<HttpExchange>& exchange) {
      exchange->Send({200, kPlainText, body});
    };
  }
  HttpResponse Ask(const std::string& method, const std::string& target,
                   const std::string& body = "") const {
    return HttpRequest(endpoint_, method, target, body);
  }
  void ReplyLater(const HttpReply& reply) {
    loop_.Post([this, reply] {
      later_->Send(reply);
      later_.reset();
    });
  }

  test::Endpoint endpoint_;
  io::Loop loop_;
  std::unique_ptr<HttpServer> server_;
  std::shared_ptr<HttpExchange> later_;  // the loop's thread
  std::atomic<int> asked_later_{0};
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersAPathThatIsServed) {
  const HttpResponse response = Ask("GET", "/thing");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "a thing\n");
  EXPECT_EQ(response.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response.headers.at("content-length"), "8");
  EXPECT_EQ(response.headers.at("cache-control"), "no-store");
}

TEST_F(HttpServerTest, TheQueryIsNoPartOfThePath) {
  EXPECT_EQ(Ask("GET", "/thing?x=1&y=2").body, "a thing\n");
  EXPECT_EQ(Ask("GET", "/?").body, "index\n");
}

TEST_F(HttpServerTest, AnAbsoluteTargetHasAPathToo) {
  EXPECT_EQ(Ask("GET", absl::StrCat("http://", endpoint_.ToString(), "/thing")).body, "a thing\n");
}

TEST_F(HttpServerTest, UnknownPathsAreNotFound) {
  for (const char* path : {"/nothing", "/thing/", "/Thing", "/%74hing/../x"}) {
    EXPECT_EQ(Ask("GET", path).status, 404) << path;
    EXPECT_EQ(Ask("PUT", path, "x").status, 404) << path;
  }
}

TEST_F(HttpServerTest, AMethodThatAPathDoesNotTakeIsToldWhichItDoes) {
  for (const char* method : {"POST", "DELETE", "PATCH", "OPTIONS"}) {
    const HttpResponse response = Ask(method, "/thing", "x");
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.headers.at("allow"), "GET, PUT") << method;
  }
  const HttpResponse response = Ask("PUT", "/large", "x");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at("allow"), "GET");
}

TEST_F(HttpServerTest, HeadIsGetWithoutItsBody) {
  const HttpResponse response = Ask("HEAD", "/thing");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(response.headers.at("content-length"), "8");
  EXPECT_EQ(response.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(Ask("HEAD", "/nothing").status, 404);
}

TEST_F(HttpServerTest, ABodyReachesItsHandler) {
  const HttpResponse response = Ask("PUT", "/thing", R"({"a": 1})");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, R"(put: {"a": 1})");
  EXPECT_EQ(response.headers.at("content-type"), "application/json; charset=utf-8");
}

TEST_F(HttpServerTest, ABodyMayBeAsLargeAsAllowedAndNoLarger) {
  const std::string largest(64 << 10, 'x');
  EXPECT_EQ(Ask("PUT", "/thing", largest).body.size(), largest.size() + 5);
  EXPECT_EQ(Ask("PUT", "/thing", largest + "x").status, 413);
  EXPECT_EQ(Ask("GET", "/thing").status, 200);  // the server goes on
}

TEST_F(HttpServerTest, EndlessHeadersAreCutOff) {
  TcpClient client(endpoint_);
  client.Send(absl::StrCat("GET /thing HTTP/1.1\r\nX: ", std::string(100'000, 'x'), "\r\n\r\n"));
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_THAT(client.received(), Not(HasSubstr("a thing")));
  EXPECT_EQ(Ask("GET", "/thing").status, 200);
}

TEST_F(HttpServerTest, GarbageIsNoHarm) {
  TcpClient client(endpoint_);
  client.Send("get some-key\r\n\r\n");
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_EQ(Ask("GET", "/thing").status, 200);
}

TEST_F(HttpServerTest, AConnectionIsKeptForTheNextRequest) {
  TcpClient client(endpoint_);
  const std::string request =
      absl::StrCat("GET /thing HTTP/1.1\r\nHost: ", endpoint_.ToString(), "\r\n\r\n");
  EXPECT_THAT(client.Ask(request, "a thing\n"), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(client.Ask(request, "a thing\n"), HasSubstr("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, ALargeReplyArrivesWhole) {
  EXPECT_EQ(Ask("GET", "/large").body.size(), size_t{4 << 20});
}

TEST_F(HttpServerTest, AReplyCanComeInALaterTurn) {
  TcpClient client(endpoint_);
  client.Send("GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(test::Eventually([&] { return asked_later_ == 1; }));
  EXPECT_EQ(Ask("GET", "/thing").status, 200);  // others don't wait for it
  ReplyLater({503, kPlainText, "not ready\n"});
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_THAT(client.received(), HasSubstr("HTTP/1.1 503"));
  EXPECT_THAT(client.received(), HasSubstr("not ready\n"));
}

TEST_F(HttpServerTest, AClientThatGoesAwayBeforeTheReplyIsNoHarm) {
  for (const bool reset : {false, true}) {
    asked_later_ = 0;
    TcpClient client(endpoint_);
    client.Send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(test::Eventually([&] { return asked_later_ == 1; }));
    reset ? client.Reset() : client.Close();
    EXPECT_EQ(Ask("GET", "/thing").status, 200);  // a turn in which it is noticed
    ReplyLater({200, kPlainText, std::string(1 << 20, 'x')});
    EXPECT_EQ(Ask("GET", "/thing").status, 200);
  }
}

TEST_F(HttpServerTest, AClientThatGoesAwayInTheMiddleOfTheReplyIsNoHarm) {
  {
    TcpClient client(endpoint_);
    client.Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(client.ReadBytes(1000));
    client.Reset();
  }
  EXPECT_EQ(Ask("GET", "/thing").status, 200);
}

TEST_F(HttpServerTest, AHandlerThatForgetsToReplyIsAnError) {
  EXPECT_EQ(Ask("GET", "/forgotten").status, 500);
}

TEST_F(HttpServerTest, TheFirstReplyCounts) { EXPECT_EQ(Ask("GET", "/twice").body, "first\n"); }

}  // namespace
}  // namespace mcscope::admin
