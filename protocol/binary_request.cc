#include "protocol/binary_request.h"

#include <algorithm>
#include <limits>

namespace mcscope::protocol {
namespace {

// Extras and key are what the opcode wants, and so is the absence of a value.
bool IsWellFormed(const BinaryHeader& header, BinaryShape shape) {
  const bool key = header.key_size > 0;
  const bool value = header.body_size > header.head_size();
  switch (shape) {
    case BinaryShape::kUnknown:
      return false;
    case BinaryShape::kBare:
      return header.extras_size == 0 && !key && !value;
    case BinaryShape::kFlush:
      return (header.extras_size == 0 || header.extras_size == 4) && !key && !value;
    case BinaryShape::kKey:
      return header.extras_size == 0 && key && !value;
    case BinaryShape::kTouch:
      return header.extras_size == 4 && key;
    case BinaryShape::kCounter:
      return header.extras_size == 20 && key && !value;
    case BinaryShape::kStat:
      return header.extras_size == 0;
    case BinaryShape::kStore:
      return header.extras_size == 8 && key;
    case BinaryShape::kConcat:
    case BinaryShape::kAuth:
      return header.extras_size == 0 && key;
  }
  return false;
}

// memcached puts the bytes of a value still to be read into 31 bits.
bool FitsAsValue(uint32_t size) { return size <= uint32_t{std::numeric_limits<int32_t>::max()}; }

// The bytes behind the header, when memcached does not close because of it. nullopt: can't be told.
std::optional<uint64_t> BodyOf(const BinaryHeader& header, BinaryShape shape) {
  const uint32_t head = header.head_size();
  switch (shape) {
    case BinaryShape::kTouch:
    case BinaryShape::kStat:
      // It does not miss a value here, nor skip one: what follows the key is the next request.
      return head;
    case BinaryShape::kUnknown:
      // It skips the whole body when the extras and the key in it have been read already.
      if (!FitsAsValue(header.body_size)) return std::nullopt;
      return uint64_t{head} + header.body_size;
    case BinaryShape::kStore:
    case BinaryShape::kConcat:
    case BinaryShape::kAuth:
      if (!FitsAsValue(header.body_size - head)) return std::nullopt;
      return header.body_size;
    default:
      return header.body_size;
  }
}

Answer AnswerOf(const BinaryOpcode& opcode) {
  if (!opcode.quiet) return Answer::kAlways;
  return opcode.command == Command::kQuit ? Answer::kNever : Answer::kPerhaps;
}

}  // namespace

std::optional<BinaryRequest> ReadBinaryRequest(const BinaryHeader& header) {
  const BinaryOpcode opcode = FindOpcode(header.opcode);
  BinaryRequest read;
  Request& request = read.request;
  request.dialect = Dialect::kBinary;
  request.opcode = header.opcode;
  request.opaque_hash = header.opaque;
  request.command = opcode.command;
  request.refused = true;
  // What closes is read as far as its key; the rest of it can only be its value.
  read.body = std::max(header.body_size, header.head_size());
  read.closes = true;
  if (BinaryHeader::kSize + header.head_size() > BinaryRequestFramer::kMaxHead) {
    // It closes as soon as its buffer is full, before it looks at what the opcode asks. That no
    // answer is due is no result which every command has.
    request.command = Command::kOther;
    request.answer = Answer::kNever;
    return read;
  }
  const bool known = opcode.shape != BinaryShape::kUnknown;
  if (header.head_size() > header.body_size || header.key_size > kMaxKeyBytes ||
      (known && !IsWellFormed(header, opcode.shape))) {
    return read;
  }
  const std::optional<uint64_t> body = BodyOf(header, opcode.shape);
  if (!body) return std::nullopt;
  read.body = *body;
  read.closes = false;
  request.refused = !known;
  request.answer = AnswerOf(opcode);
  // To store with a cas id is to compare and swap, whatever the opcode says.
  if (opcode.shape == BinaryShape::kStore && header.has_cas) request.command = Command::kCas;
  return read;
}

RequestStep BinaryRequestFramer::Next(absl::string_view window) {
  if (state_ == State::kOpaque) return Opaque(reason_);
  RequestStep step;
  if (state_ == State::kIdle) {
    if (static_cast<unsigned char>(window[0]) != kBinaryRequestMagic) {
      return Opaque(OpaqueReason::kBadMagic);
    }
    state_ = State::kHeader;
  }
  if (state_ == State::kHeader) {
    const std::optional<BinaryHeader> header = header_.Take(window, &step.used);
    if (!header) return step;
    const std::optional<BinaryRequest> read = ReadBinaryRequest(*header);
    if (!read) return Opaque(OpaqueReason::kUnsure);
    request_ = read->request;
    closes_ = read->closes;
    value_size_ = static_cast<uint32_t>(read->body - header->head_size());
    const bool hashes_key = FindOpcode(header->opcode).returns_key && !request_.refused;
    body_ = BinaryBody(*header, read->body, hashes_key);
    state_ = State::kBody;
  }
  step.used += body_.Take(window.substr(step.used));
  if (body_.missing() > 0) return step;
  state_ = State::kIdle;
  request_.key_hash = body_.key_hash();
  step.kind = StepKind::kComplete;
  step.request = request_;
  return step;
}

RequestStep BinaryRequestFramer::Opaque(OpaqueReason reason) {
  state_ = State::kOpaque;
  reason_ = reason;
  RequestStep step;
  step.kind = StepKind::kOpaque;
  step.reason = reason;
  return step;
}

}  // namespace mcscope::protocol
