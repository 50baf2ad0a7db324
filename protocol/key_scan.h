// Follows a fetch's line that is too long to be remembered: which command, whether a key is too
// long, where it ends. Keeps no byte of it and takes linear time.
//
// Owner: TextRequestFramer. Used by one thread.
#ifndef MCSCOPE_PROTOCOL_KEY_SCAN_H_
#define MCSCOPE_PROTOCOL_KEY_SCAN_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "protocol/request.h"

namespace mcscope::protocol {

class KeyScan {
 public:
  // Starts with the first bytes of a line, without a newline among them. nullopt when they do not
  // begin a fetch (get, gets, gat, gats) with all that stands before its keys.
  static std::optional<KeyScan> Start(absl::string_view head);

  // The next bytes of the line, without a newline among them.
  void Take(absl::string_view bytes);

  // The newline came.
  Request Finish();

  // memcached goes on reading the line however it is chunked.
  bool patient() const { return patient_; }

 private:
  KeyScan() = default;

  void TakeText(absl::string_view text);
  void EndKey(size_t length);

  Request request_;
  bool patient_ = false;
  bool has_key_ = false;
  bool ended_ = false;    // a NUL ended the text; what follows is of no account
  bool ends_cr_ = false;  // the last byte was a carriage return, which the line's end may take back
  size_t key_bytes_ = 0;  // of the key under way
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_KEY_SCAN_H_
