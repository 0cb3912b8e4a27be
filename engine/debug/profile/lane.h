// The records of one thread and depth, in time, with summaries of eight, of eight times eight, …: so a
// picture of any length is found in time proportional to its pixels.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace tapedeck::debug {

/// One record, or neighbours that fall into one pixel.
struct LaneBox {
  std::int64_t from = 0, to = 0;
  std::int64_t busy = 0;     ///< the records' own time, of all of that
  std::uint32_t record = 0;  ///< the longest
  std::int64_t longest = 0;  ///< that one's time
  std::uint32_t count = 0;
  /// One that comes after it joins it.
  void join(const LaneBox& next);
  bool operator==(const LaneBox&) const = default;
};

class Lane {
 public:
  /// A record as a box; count 0 where it is gone.
  using Look = std::function<LaneBox(std::uint32_t record)>;

  /// Records in the order of their numbers, which is that of their times.
  void add(const LaneBox& record);
  /// Drops the records before that one.
  void forget(std::uint32_t before);
  std::size_t size() const { return numbers_.size(); }
  std::uint32_t number(std::size_t at) const { return numbers_[at]; }
  /// Position of the first record from that number on.
  std::size_t position(std::uint32_t record) const;

  /// Boxes that overlap [from, to), in order. Records shorter than a pixel whose begins fall into the same
  /// one (counted from `from`) come as one box.
  void boxes(std::int64_t from, std::int64_t to, double pixel, const Look& look,
             std::vector<LaneBox>& into) const;

 private:
  static constexpr std::size_t fan_bits = 3, fan = std::size_t{1} << fan_bits;
  struct Level {
    std::deque<LaneBox> nodes;
    std::size_t gone = 0;  ///< nodes that were dropped at the front
    void put(std::size_t node, const LaneBox& box);
  };
  struct Query;
  void add_level();
  void descend(Query& query, std::size_t level, std::size_t node) const;

  std::deque<std::uint32_t> numbers_;
  std::size_t gone_ = 0;
  std::vector<Level> levels_;  ///< levels_[0]: of `fan` records each
};

}  // namespace tapedeck::debug
