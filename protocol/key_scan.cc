#include "protocol/key_scan.h"

#include <cstring>

#include "protocol/tokenizer.h"

namespace mcscope::protocol {
namespace {

constexpr size_t kMaxPatientSpaces = 100;

// Cuts the first word, with the spaces before it, from `text`; empty unless a space follows it.
absl::string_view CutWord(absl::string_view* text) {
  const size_t start = text->find_first_not_of(' ');
  if (start == absl::string_view::npos) return {};
  const size_t stop = text->find(' ', start);
  if (stop == absl::string_view::npos) return {};
  const absl::string_view word = text->substr(start, stop - start);
  text->remove_prefix(stop);
  return word;
}

}  // namespace

std::optional<KeyScan> KeyScan::Start(absl::string_view head) {
  absl::string_view rest = head;
  const absl::string_view word = CutWord(&rest);
  if (word != "get" && word != "gets" && word != "gat" && word != "gats") return std::nullopt;
  KeyScan scan;
  scan.request_.command = FindCommand(word);
  if (word[1] == 'a') {
    const absl::string_view exptime = CutWord(&rest);
    if (exptime.empty()) return std::nullopt;
    const size_t nul = exptime.find('\0');
    scan.ended_ = nul != absl::string_view::npos;
    scan.request_.refused = !ReadSigned(exptime.substr(0, nul));
  } else {
    scan.patient_ = static_cast<size_t>(word.data() - head.data()) <= kMaxPatientSpaces;
  }
  scan.Take(rest);
  return scan;
}

void KeyScan::Take(absl::string_view bytes) {
  if (ended_ || bytes.empty()) return;
  const void* nul = std::memchr(bytes.data(), '\0', bytes.size());
  if (nul == nullptr) {
    ends_cr_ = bytes.back() == '\r';
    TakeText(bytes);
    return;
  }
  ends_cr_ = false;
  TakeText(bytes.substr(0, static_cast<const char*>(nul) - bytes.data()));
  EndKey(key_bytes_);
  ended_ = true;
}

void KeyScan::TakeText(absl::string_view text) {
  while (!text.empty()) {
    const void* space = std::memchr(text.data(), ' ', text.size());
    if (space == nullptr) {
      key_bytes_ += text.size();
      return;
    }
    const size_t length = static_cast<const char*>(space) - text.data();
    EndKey(key_bytes_ + length);
    text.remove_prefix(length + 1);
  }
}

void KeyScan::EndKey(size_t length) {
  key_bytes_ = 0;
  has_key_ = has_key_ || length > 0;
  // A fetch refused for its time looks at no key.
  if (length <= kMaxKeyBytes || (request_.refused && !request_.drops_unsent_replies)) return;
  request_.refused = true;
  request_.drops_unsent_replies = true;
}

Request KeyScan::Finish() {
  if (!ended_) EndKey(key_bytes_ - (ends_cr_ ? 1 : 0));
  // With a time and no key there is nothing to be found; without a time it is an error.
  const bool touches = request_.command == Command::kGat || request_.command == Command::kGats;
  if (!has_key_ && !touches) request_.refused = true;
  return request_;
}

}  // namespace mcscope::protocol
