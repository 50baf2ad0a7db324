#include "protocol/binary_reply.h"

namespace mcscope::protocol {
namespace {

// Statuses that memcached sends.
constexpr uint16_t kSuccess = 0x00;
constexpr uint16_t kKeyNotFound = 0x01;
constexpr uint16_t kKeyExists = 0x02;
constexpr uint16_t kTooLarge = 0x03;
constexpr uint16_t kInvalid = 0x04;
constexpr uint16_t kItemNotStored = 0x05;
constexpr uint16_t kNotANumber = 0x06;
constexpr uint16_t kAuthContinues = 0x21;
constexpr uint16_t kUnknownCommand = 0x81;

ReplyCode CodeOfSuccess(Command command) {
  switch (command) {
    case Command::kGet:
    case Command::kGat:
      return ReplyCode::kValues;
    case Command::kSet:
    case Command::kAdd:
    case Command::kReplace:
    case Command::kAppend:
    case Command::kPrepend:
      return ReplyCode::kStored;
    case Command::kDelete:
      return ReplyCode::kDeleted;
    case Command::kIncr:
    case Command::kDecr:
      return ReplyCode::kNumber;
    case Command::kTouch:
      return ReplyCode::kTouched;
    case Command::kVersion:
      return ReplyCode::kVersion;
    case Command::kStats:
      return ReplyCode::kStats;
    default:
      return ReplyCode::kOk;
  }
}

ReplyCode CodeOf(Command command, uint16_t status) {
  switch (status) {
    case kSuccess:
      return CodeOfSuccess(command);
    case kKeyNotFound:
      if (command == Command::kStats) return ReplyCode::kError;
      return command == Command::kGet || command == Command::kGat ? ReplyCode::kEnd
                                                                  : ReplyCode::kNotFound;
    case kKeyExists:
      return ReplyCode::kExists;
    case kItemNotStored:
      return ReplyCode::kNotStored;
    case kAuthContinues:
      return command == Command::kSasl ? ReplyCode::kOk : ReplyCode::kError;
    default:
      return ReplyCode::kError;
  }
}

ErrorKind KindOf(uint16_t status) {
  switch (status) {
    case kTooLarge:
      return ErrorKind::kTooLarge;
    case kInvalid:
    case kUnknownCommand:
      return ErrorKind::kGeneric;
    case kKeyNotFound:  // of statistics
    case kNotANumber:
      return ErrorKind::kClient;
    default:
      return ErrorKind::kServer;
  }
}

}  // namespace

ReplyStep BinaryReplyFramer::Next(absl::string_view window) {
  ReplyStep step;
  if (state_ == State::kIdle) reply_ = Reply();
  do {
    Advance(window, &step.used);
    if (state_ == State::kOpaque) {
      step.kind = StepKind::kOpaque;
      step.used = 0;
      return step;
    }
    if (state_ == State::kIdle) {
      step.kind = StepKind::kComplete;
      step.reply = reply_;
      return step;
    }
  } while (step.used < window.size());
  return step;
}

// Takes the rest of a packet, as far as it is there.
void BinaryReplyFramer::Advance(absl::string_view window, size_t* used) {
  if (state_ == State::kOpaque) return;
  if (state_ == State::kIdle || state_ == State::kStats) {
    if (static_cast<unsigned char>(window[*used]) != kBinaryReplyMagic) {
      state_ = State::kOpaque;
      return;
    }
    if (state_ == State::kIdle) goes_on_ = false;
    state_ = State::kHeader;
  }
  if (state_ == State::kHeader) {
    const std::optional<BinaryHeader> header = header_.Take(window, used);
    if (!header) return;
    state_ = StartBody(*header);
    if (state_ == State::kOpaque) return;
  }
  *used += body_.Take(window.substr(*used));
  if (body_.missing() > 0) return;
  state_ = goes_on_ ? State::kStats : State::kIdle;
  reply_.key_hash = body_.key_hash();
}

BinaryReplyFramer::State BinaryReplyFramer::StartBody(const BinaryHeader& header) {
  if (header.head_size() > header.body_size) return State::kOpaque;
  // What interrupts statistics is none of memcached's.
  if (goes_on_ && (header.opcode != reply_.opcode || header.opaque != reply_.opaque_hash)) {
    return State::kOpaque;
  }
  const BinaryOpcode opcode = FindOpcode(header.opcode);
  reply_.dialect = Dialect::kBinary;
  reply_.opcode = header.opcode;
  reply_.opaque_hash = header.opaque;
  reply_.code = CodeOf(opcode.command, header.status);
  reply_.error = reply_.code == ReplyCode::kError ? KindOf(header.status) : ErrorKind::kNone;
  goes_on_ = reply_.code == ReplyCode::kStats && header.key_size > 0;
  body_ = BinaryBody(header, header.body_size, opcode.returns_key);
  return State::kBody;
}

}  // namespace mcscope::protocol
