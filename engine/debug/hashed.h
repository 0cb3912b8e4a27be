// Hashes of what records say, for keys that live as long as the process.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/ops/core/op.h"

namespace tapedeck::debug {

/// The hash of a sequence that goes on with `value`.
inline std::uint64_t hashed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 32);
}

inline std::uint64_t attribute_hash(const Attribute& attribute) {
  const std::uint64_t kind = attribute.index() + 1;
  return std::visit(
      [&]<class T>(const T& value) -> std::uint64_t {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return kind;
        } else if constexpr (std::is_same_v<T, double>) {
          return hashed(kind, std::bit_cast<std::uint64_t>(value));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return hashed(kind, std::hash<std::string>()(value));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          std::uint64_t hash = hashed(kind, value.size());
          for (const std::int64_t one : value) hash = hashed(hash, static_cast<std::uint64_t>(one));
          return hash;
        } else {
          return hashed(kind, static_cast<std::uint64_t>(value));
        }
      },
      attribute);
}

}  // namespace tapedeck::debug
