// Sums over records: by class, by gap, by thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace tapedeck::debug {

struct ClassSums {
  std::uint64_t calls = 0;
  std::int64_t total = 0;  ///< with what ran inside
  std::int64_t self = 0;
  std::int64_t max = 0;
  std::uint32_t slowest = 0;  ///< the record that took `max`
  double flops = 0, bytes = 0;
  std::uint64_t pending = 0, lost = 0;  ///< calls whose time is not known, and so is in none of the sums
  void add(const ClassSums& other);
};

/// The work of one GPU.
struct DeviceSums {
  std::array<std::int64_t, 4> by_role{};  ///< ProfileRole's first four
  std::uint64_t calls = 0;
  std::uint64_t pending = 0, lost = 0;  ///< of them
  void add(const DeviceSums& other);
};

/// Python between two ops of a thread, by their places; location 0 on the one side is a cell's start or end.
struct GapKey {
  std::uint16_t thread = 0;
  std::uint32_t from = 0, to = 0;
  auto operator<=>(const GapKey&) const = default;
};
struct GapSums {
  std::uint64_t count = 0;
  std::int64_t total = 0, max = 0;
  std::uint32_t record = 0;  ///< beside the longest
  void add(const GapSums& other);
};

/// Records that nothing of the session runs around, of one thread: the host's time.
struct ThreadSums {
  std::array<std::int64_t, 4> by_role{};  ///< ProfileRole's first four
  std::int64_t gaps = 0;
  std::uint64_t calls = 0;
  void add(const ThreadSums& other);
};

/// All of them, over any part of the records.
struct Sums {
  std::vector<std::uint32_t> kinds;  ///< classes, each once
  std::vector<ClassSums> sums;       ///< of each
  std::map<GapKey, GapSums> gaps;
  std::map<std::uint16_t, ThreadSums> threads;
  std::map<std::uint8_t, DeviceSums> devices;  ///< by ProfileClass::gpu

  ClassSums& of(std::uint32_t kind);
  const ClassSums* find(std::uint32_t kind) const;
  void add(const Sums& other);

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> places_;
};

}  // namespace tapedeck::debug
