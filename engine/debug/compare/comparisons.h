// Makes and reads a session's comparisons for clients.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/debug/compare/first_difference.h"
#include "engine/debug/what_if.h"

namespace tapedeck::debug {

/// The newest runs of cells.
protocol::CellRuns describe_cell_runs(const Recorder& recorder, std::uint32_t count);

/// Any thread may call, under a QuietScope. All throw ValueError (also of a comparison that is gone),
/// BadRequest and Cancelled.
class Comparisons {
 public:
  using Find = ComparedValues::Find;
  Comparisons(Recorder& recorder, Branches& branches) : recorder_(recorder), branches_(branches) {}

  protocol::Compared make(const protocol::MakeComparison& request, const CancelFlag& cancel,
                          const Jobs::Report& report);
  protocol::ComparisonRows rows(const protocol::GetComparisonRows& request);
  protocol::ComparisonPlace place(const protocol::FindComparisonRow& request);
  /// `original`: the session's own values.
  protocol::ComparedOperands operands(const protocol::CompareOperands& request, const Find& original,
                                      const CancelFlag& cancel);
  protocol::FirstDifference first_difference(const protocol::FindFirstDifference& request,
                                             const Find& original, const CancelFlag& cancel,
                                             const Jobs::Report& report);
  protocol::ComparedLayers layers(const protocol::CompareLayers& request, const Find& original,
                                  const CancelFlag& cancel, const Jobs::Report& report);
  /// The tensor of one side, or right minus left: zero where both are the same NaN or infinity.
  Tensor value(const protocol::GetComparisonTile& request, const Find& original, const CancelFlag& cancel);
  protocol::ComparisonCurves curves(const protocol::GetComparisonCurves& request);
  void drop(std::uint64_t comparison);

  static constexpr std::size_t most_comparisons = 4;

 private:
  struct Kept {
    std::shared_ptr<const Comparison> comparison;
    std::uint64_t used = 0;
  };
  Side side_of(const protocol::ComparedSide& asked, const char* which);
  std::shared_ptr<Recorder> open_file(const std::string& path, std::string& left_out);
  std::shared_ptr<const Comparison> find(std::uint64_t comparison);
  ComparedValues values_of(const Comparison& comparison, const Find& original, const CancelFlag& cancel);

  Recorder& recorder_;
  Branches& branches_;
  std::mutex mutex_;
  std::map<std::uint64_t, Kept> comparisons_;
  std::map<std::string, std::weak_ptr<Recorder>> files_;  ///< that a comparison keeps open
  std::uint64_t last_ = 0, uses_ = 0;
};

}  // namespace tapedeck::debug
