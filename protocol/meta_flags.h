// The flags of meta requests (mg, ms, md, ma), as far as they decide whether and how memcached
// answers.
//
// Pure function.
#ifndef MCSCOPE_PROTOCOL_META_FLAGS_H_
#define MCSCOPE_PROTOCOL_META_FLAGS_H_

#include <cstddef>
#include <cstdint>

#include "protocol/command.h"
#include "protocol/tokenizer.h"

namespace mcscope::protocol {

struct MetaFlags {
  bool quiet = false;    // `q` is among them
  bool refused = false;  // memcached 1.6.18 answers with an error because of them
  // Hashes of what replies repeat: the opaque, and the key if asked for in plain; else 0.
  uint32_t opaque_hash = 0;
  uint32_t key_hash = 0;
};

// Reads the tokens from index `first` on. The key is token 1.
MetaFlags ReadMetaFlags(Command command, const Tokens& tokens, size_t first);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_META_FLAGS_H_
