// The flags of meta requests (mg, ms, md, ma), as far as they decide whether and how memcached
// answers.
//
// Pure functions.
#ifndef MCSCOPE_PROTOCOL_META_FLAGS_H_
#define MCSCOPE_PROTOCOL_META_FLAGS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocol/command.h"
#include "protocol/tokenizer.h"

namespace mcscope::protocol {

struct MetaFlags {
  bool quiet = false;    // `q` is among them
  bool creates = false;  // `N`: a missing item is created
  bool refused = false;  // memcached 1.6.18 answers with an error because of them
  // Hashes of what replies repeat: the opaque, and the key if asked for in plain; else 0.
  uint32_t opaque_hash = 0;
  uint32_t key_hash = 0;
};

// Reads the tokens from index `first` on. The key is token 1.
MetaFlags ReadMetaFlags(Command command, const Tokens& tokens, size_t first);

// Can memcached decode `key`, which is said to be in base64?
bool DecodesAsBase64(absl::string_view key);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_META_FLAGS_H_
