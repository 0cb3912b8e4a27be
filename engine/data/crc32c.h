// CRC-32C (Castagnoli; RFC 3720, appendix B.4), with the processor's own instruction where it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapedeck::data {

/// Of `before`'s bytes followed by `bytes`, where `crc` is that of `before`; 0 is that of nothing.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
/// The same by table alone, for tests.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);
/// As record files store it: rotated and moved, so that the checksum of bytes that hold checksums stays good.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace tapedeck::data
