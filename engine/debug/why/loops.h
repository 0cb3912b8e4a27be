// Finds loops on the path of a gradient or value: sequences of ops that repeat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// What an op on the way is known by, and by how much it made the norm larger: ln of the gain.
struct OnWay {
  std::string op;
  std::uint32_t location = 0;  ///< of the forward op; 0: unknown
  bool backward = false;
  double log_gain = 0;
  bool same_as(const OnWay& other) const {
    return op == other.op && location == other.location && backward == other.backward;
  }
};

/// Rounds of the same ops in the same order.
struct Loop {
  std::size_t first = 0;   ///< place on the way of its first op
  std::size_t length = 0;  ///< ops of a round
  std::size_t rounds = 0;
  double log_gain = 0;                     ///< of all rounds
  double least_round = 0, most_round = 0;  ///< ln of the gains of single rounds, the smallest and the largest
  std::size_t end() const { return first + length * rounds; }
  double each() const;  ///< the gain of a round, the geometric mean
};

/// Those in which the norm grew (or, not `grew`, shrank) round by round: no single one made half of it. The
/// one that did most first; they do not overlap.
std::vector<Loop> loops_of(const std::vector<OnWay>& way, bool grew);

/// Where the program called the op; of one that ran inside of a VJP, the op whose VJP that is.
std::uint32_t called_at(Past& past, const RecordView& record);

/// "matmul, add and relu": each op of a round once, that of the largest gain first.
std::string round_text(const std::vector<OnWay>& way, const Loop& loop);
/// "128 products", where a product did most of it; else "128 rounds".
std::string rounds_text(const std::vector<OnWay>& way, const Loop& loop);
/// First and last line of a round's ops; 0 and 0 where they are not known, or not of one cell or file.
std::pair<std::uint32_t, std::uint32_t> loop_lines(const std::vector<OnWay>& way, const Loop& loop);

}  // namespace tapedeck::debug
