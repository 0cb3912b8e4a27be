// Damaged copies of good bytes, for readers that must reject them without a crash.
#pragma once

#include <random>
#include <string>

/// Bytes changed, removed, doubled or truncated; the same for the same state of `random`.
inline std::string mutated(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % (limit ? limit : 1));
  };
  const std::size_t changes = 1 + below(4);
  for (std::size_t change = 0; change < changes && !bytes.empty(); ++change) {
    const std::size_t at = below(bytes.size());
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + below(16));
        break;
      default:
        bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(16)));
    }
  }
  return bytes;
}
