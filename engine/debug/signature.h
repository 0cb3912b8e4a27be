// Authenticates messages: each is signed with the session's key, as in Jupyter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tapedeck::debug {

/// HMAC-SHA256 (RFC 2104), 32 bytes; empty for an empty key.
std::vector<std::uint8_t> sign(const std::string& key, std::span<const std::uint8_t> message);

/// Constant-time comparison.
bool verify(const std::string& key, std::span<const std::uint8_t> message,
            std::span<const std::uint8_t> signature);

}  // namespace tapedeck::debug
