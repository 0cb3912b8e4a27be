// Validates CBOR bytes before they are decoded: the decoder recurses and trusts declared lengths, and a peer
// may lie.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tapedeck::protocol {

/// Arrays and maps inside of each other; messages need 6.
constexpr int max_nesting = 16;

/// Empty where `bytes` are exactly one CBOR item of the kind that encode writes: definite lengths that fit
/// the bytes, text keys in ascending order (so none twice), no tags, integers within 64 bits. Else what is
/// wrong, with its offset. Allocates nothing that grows with the bytes.
std::string check_cbor(std::span<const std::uint8_t> bytes);

}  // namespace tapedeck::protocol
