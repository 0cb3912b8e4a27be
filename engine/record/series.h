// The curves that a session draws: points in the order in which they were added.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

/// Safe from several threads. Points and restarts share one row of positions, so that a reader that goes on
/// from an answer's `next` misses none and gets none twice.
class SeriesStore {
 public:
  void add(const std::string& series, double step, double value, std::uint64_t record);
  /// The points so far are void: what draws the series starts anew.
  void restart(const std::string& series);
  std::uint64_t size() const;  ///< positions used
  /// How a curve's newest point stands to the one before it.
  struct Trend {
    std::uint64_t position = 0;  ///< of the newest point, from 1; 0: there are no two points
    double before = 0, newest = 0;
  };
  /// Of the curve of that name; where there is none, of the newest one called so in some cell
  /// ("cell 3: loss").
  Trend trend(const std::string& name) const;
  /// At most `limit` points from position `first` on, without those that a later restart made void.
  protocol::Series read(std::uint64_t first, std::size_t limit = 10000) const;

 private:
  struct Entry {
    std::uint32_t series = 0;
    bool restart = false;
    double step = 0, value = 0;
    std::uint64_t record = 0;
  };
  struct Curve {
    std::string name;
    std::uint64_t valid_from = 0;
    Trend trend = {};
    std::uint64_t points = 0;  ///< that are valid
  };
  std::uint32_t curve(const std::string& name);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<Curve> curves_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace tapedeck
