// Messages to bytes and back, from the field lists alone.
//
// A message travels as one CBOR map: {"type": …, "request": id, "body": {field: value, …}}. Sent over ZeroMQ
// as two frames: the HMAC-SHA256 of the second under the session's key (empty key: empty frame), and the CBOR
// bytes.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::protocol {

using Bytes = std::vector<std::uint8_t>;

/// What decode throws: names the message and field that is missing, of the wrong type, or out of range.
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Bytes encode(std::uint64_t request, const Request& message);
Bytes encode(std::uint64_t request, const Reply& message);

struct IncomingRequest {
  std::uint64_t request = 0;
  Request message;
};
struct IncomingReply {
  std::uint64_t request = 0;  ///< the request it answers; 0: sent unasked
  Reply message;
};
/// Throw DecodeError for anything that encode could not have made; never crash, whatever the bytes. Fields
/// that the struct does not know are an error too: both sides have the same version.
IncomingRequest decode_request(std::span<const std::uint8_t> bytes);
IncomingReply decode_reply(std::span<const std::uint8_t> bytes);

/// "get_tile", "records", …
std::string type_name(const Request& message);
std::string type_name(const Reply& message);

/// The record as JSON text with the same names, for files (one object, no newline).
std::string to_json(const Record& record);

}  // namespace tapedeck::protocol
