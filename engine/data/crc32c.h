// CRC-32C (Castagnoli; RFC 3720, appendix B.4), with the processor's instruction if it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapedeck::data {

/// Continues the checksum `crc` with `bytes`; 0 is the checksum of no bytes.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
/// The same by table only, for tests.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);
/// As record files store it: rotated and offset, because checksums of data that contains checksums are weak.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace tapedeck::data
