// Addresses in arrays of which only the element size is known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapedeck::cpu {

inline const char* at(const void* data, std::int64_t elements, std::size_t size) {
  return static_cast<const char*>(data) + elements * static_cast<std::int64_t>(size);
}
inline char* at(void* data, std::int64_t elements, std::size_t size) {
  return static_cast<char*>(data) + elements * static_cast<std::int64_t>(size);
}

}  // namespace tapedeck::cpu
