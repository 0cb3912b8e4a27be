// The sentences about a first difference.
#pragma once

#include "engine/debug/compare/first_difference.h"

namespace tapedeck::debug {

/// The sentences of one comparison.
class DifferenceText {
 public:
  DifferenceText(const Comparison& comparison, const std::vector<protocol::CellLabel>& labels)
      : comparison_(comparison), labels_(labels) {}

  /// "op 217, matmul, cell 3 line 4"; with the right side's number where it is another.
  std::string op(const Comparison::Row& row) const;
  std::string op(const Side& side, std::uint32_t record) const;
  /// "W:0", "an unnamed value".
  std::string name(std::uint64_t left, std::uint64_t right) const;
  /// " (cell 2 line 1)" of a variable's first value, where that is known.
  std::string set_at(const Side& side, std::uint64_t tensor) const;
  /// "it is 0.1 on the left and 0.2 on the right"; "it differs by up to 0.003 at [0, 2] (0.1 % of it), in 12
  /// of 300 elements".
  static std::string amount(const Tensor& left, const Tensor& right, const ValueDifference& difference);
  /// "seed: 1 | 2" for each attribute that differs.
  std::vector<std::string> attributes(const Comparison::Row& row) const;
  /// The ops on one side only before a row; empty: none.
  std::string one_sided_before(std::size_t row) const;
  /// "it reads memory that was never written (op 1, aten.empty, line 2), which holds something else in each
  /// run"; empty: the row's ops do not.
  std::string unwritten(const Comparison::Row& row) const;
  static std::string tolerance(const protocol::FindFirstDifference& request);

 private:
  /// `record`: that ran there, or the newest then.
  std::string place(const Side& side, std::uint32_t location, std::uint32_t record) const;

  const Comparison& comparison_;
  const std::vector<protocol::CellLabel>& labels_;
};

}  // namespace tapedeck::debug
