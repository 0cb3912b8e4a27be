// Two sides, aligned.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/debug/compare/layers.h"
#include "engine/debug/compare/side.h"
#include "engine/debug/compare/value_difference.h"
#include "engine/debug/jobs.h"
#include "engine/debug/why/unwritten_memory.h"
#include "engine/protocol/compare.h"

namespace tapedeck::debug {

/// The rows of a comparison: made once, then read by any thread.
class Comparison {
 public:
  struct Row {
    std::uint32_t left = 0, right = 0;  ///< records; 0: not there
    protocol::RowKind kind = protocol::RowKind::same;
    bool computes = false;  ///< both sides have results
  };
  /// Of a port and its original: sides of two frameworks, a file of tensors, or what a name map is given for.
  struct Port {
    SideLayers left, right;
    LayerPairs pairs;
    bool across_frameworks() const { return left.foreign() != right.foreign(); }
    /// Whether two tensors are weights, or gradients of weights, that their frameworks keep with their axes
    /// in different orders.
    bool other_orders(std::uint64_t left_tensor, std::uint64_t right_tensor) const;
  };
  /// Aligns the sides. Throws Cancelled, and BadRequest for a name in the map that no side has.
  Comparison(Side left, Side right, const CancelFlag* cancel, const Jobs::Report& report,
             const NameMap* names = nullptr);

  const Side& left() const { return left_; }
  const Side& right() const { return right_; }
  const std::vector<Row>& rows() const { return rows_; }
  std::uint64_t count(protocol::RowKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  /// The row of a record of a side; -1: none.
  std::int64_t row_of_left(std::uint64_t record) const { return row_of(left_, left_rows_, record); }
  std::int64_t row_of_right(std::uint64_t record) const { return row_of(right_, right_rows_, record); }
  /// The first row of the next run of rows that are not the same, past the run that `from` is in; backward:
  /// of the run before `from`. `from` -1: from outside. -1: there is none.
  std::int64_t next_difference(std::int64_t from, bool backward) const;
  std::vector<protocol::ComparisonPart> parts(std::size_t most) const;
  /// "12,004 ops are the same; …".
  std::string sentence() const;

  // ---- what is known of values, at the tolerance that was asked for last
  /// Forgets what is known at another tolerance.
  void set_tolerance(const Tolerance& tolerance) const;
  bool exact() const;  ///< the tolerance is zero
  void note(std::size_t row, protocol::Agreement results) const;
  protocol::Agreement results(std::size_t row) const;

  /// What of a tensor's memory the program wrote.
  const Uninitialised& unwritten(bool right) const { return right ? right_unwritten_ : left_unwritten_; }
  /// How much two tensors' contents are values: the less of both.
  Contents contents(std::uint64_t left, std::uint64_t right) const {
    return std::max(left_unwritten_.contents(left), right_unwritten_.contents(right));
  }

  const Port* port() const { return port_ ? &*port_ : nullptr; }
  /// The left side's layer of a row that both sides have; only of a port.
  std::size_t layer_of(const Row& row) const;

  /// Whether graph functions ran on that side alone.
  bool graph_is_right() const { return left_calls_ == 0 && right_calls_ != 0; }
  bool graph_is_left() const { return right_calls_ == 0 && left_calls_ != 0; }

 private:
  using Rows = std::vector<std::uint32_t>;
  static std::int64_t row_of(const Side& side, const Rows& rows, std::uint64_t record);
  void pair(const Sequence& left, const Sequence& right, const std::vector<Alignment>& alignment);
  void pair_port(const NameMap& names, const CancelFlag* cancel);
  void pair_with_itself(const Sequence& both);
  void index();

  Side left_, right_;
  Uninitialised left_unwritten_, right_unwritten_;
  std::optional<Port> port_;
  std::vector<Row> rows_;
  std::uint64_t counts_[5] = {};
  std::uint64_t left_calls_ = 0, right_calls_ = 0;  ///< of graph functions
  Rows left_rows_, right_rows_;                     ///< by record, from the side's first
  mutable std::mutex known_mutex_;
  mutable Tolerance tolerance_;
  mutable std::unordered_map<std::size_t, protocol::Agreement> known_;
};

}  // namespace tapedeck::debug
