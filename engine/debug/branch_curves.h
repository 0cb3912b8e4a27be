// The curves of a session as they are in a branch, and what of it Python took along.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/debug/branch_reads.h"
#include "engine/protocol/messages.h"
#include "engine/record/replay/branch.h"

namespace tapedeck::debug {

struct BranchCurves {
  std::vector<protocol::CurveInfo> curves;
  std::vector<protocol::SeriesPoint> points;  ///< of one curve after the other
  std::vector<std::string> notes;  ///< what is left out, and what stays as recorded, each a sentence
  std::vector<protocol::ReadUse> reads = {};  ///< ops that take, or may take, what Python read
};

/// Computes the points of curves whose tensors depend on the branch's changes. Which tensor a point came from
/// is not recorded: it is the one that Python read last before the point was made and that had its number.
/// Python is not run again: `reads` and `notes` name the ops that take, or may take, what it read of tensors
/// that moved. Used by one thread at a time, as the branch; throws Cancelled.
class BranchCurveReader {
 public:
  using Find = Branch::Find;
  /// `first_record`: the first that is changed; 0: not known.
  BranchCurveReader(const Recorder& recorder, Branch& branch, std::uint32_t first_record,
                    const Find& original, const CancelFlag& cancel);
  /// How many points compute() computes.
  std::uint64_t count() const { return to_compute_; }
  BranchCurves compute(const std::function<void(std::uint64_t done)>& progress);

 private:
  struct Point {
    protocol::SeriesPoint point;
    std::uint64_t tensor = 0;  ///< 0: not known
    bool depends = false;
  };
  struct Curve {
    protocol::CurveInfo info;
    std::vector<Point> points;
    std::uint64_t moving = 0, unknown = 0;
  };
  void find_reads();
  void find_curves();
  void find_tensors(Curve& curve);
  std::uint64_t newest_tensor_at(std::uint64_t record);
  void note_curves(const Curve& curve, const std::string& failure, std::uint64_t failed,
                   BranchCurves& made) const;

  const Recorder& recorder_;
  Branch& branch_;
  const std::uint32_t first_record_;
  const Find& original_;
  const CancelFlag& cancel_;
  std::vector<BranchRead> reads_;  ///< in their order
  std::vector<Curve> curves_;
  std::uint64_t to_compute_ = 0, left_ = 0;
};

}  // namespace tapedeck::debug
