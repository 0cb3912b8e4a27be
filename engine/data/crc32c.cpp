#include "engine/data/crc32c.h"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace tapedeck::data {

namespace {

using Table = std::array<std::uint32_t, 256>;

constexpr Table make_table() {
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82F63B78U : 0);
    table[byte] = value;
  }
  return table;
}
constexpr Table table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                      std::uint32_t crc) {
  std::uint64_t state = ~crc;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
bool has_instruction() {
  static const bool has = __builtin_cpu_supports("sse4.2");
  return has;
}
#elif defined(__ARM_FEATURE_CRC32)
std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc) {
  std::uint32_t state = ~crc;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state = __crc32cd(state, word);
  }
  for (; left > 0; --left, ++at) state = __crc32cb(state, static_cast<unsigned char>(*at));
  return ~state;
}
bool has_instruction() {
  return true;
}
#else
std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc) {
  return crc32c_by_table(bytes, crc);
}
bool has_instruction() {
  return false;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc) {
  std::uint32_t state = ~crc;
  for (const char byte : bytes)
    state = (state >> 8) ^ table[(state ^ static_cast<unsigned char>(byte)) & 255];
  return ~state;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
  return has_instruction() ? crc32c_by_instruction(bytes, crc) : crc32c_by_table(bytes, crc);
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace tapedeck::data
