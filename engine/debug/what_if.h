// What if: makes and reads a session's branches for clients.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/debug/branch_curves.h"
#include "engine/debug/jobs.h"
#include "engine/protocol/what_if.h"
#include "engine/record/replay/branch.h"

namespace tapedeck::debug {

/// Any thread may call, under a QuietScope.
class Branches {
 public:
  using Find = Branch::Find;
  explicit Branches(Recorder& recorder) : recorder_(recorder) {}

  /// Makes a branch and runs what depends on its changes. At most `most_branches` are kept; the least
  /// recently used one is dropped. Throws ValueError, BadRequest and Cancelled.
  protocol::Branched make(const protocol::MakeBranch& request, const Find& original, const CancelFlag& cancel,
                          const Jobs::Report& report);
  /// A tensor in the branch, or how far it moved from the original. Throws ValueError: also of a branch that
  /// is gone.
  Tensor value(std::uint64_t branch, std::uint64_t tensor, bool difference, const Find& original,
               const CancelFlag& cancel);
  /// Whether the tensor may be another one in the branch. Throws as value().
  bool depends(std::uint64_t branch, std::uint64_t tensor, const CancelFlag& cancel);
  /// Empty for tensors with more than a few elements and for lost values. Throws as value().
  protocol::BranchPreviews previews(const protocol::GetBranchPreviews& request, const Find& original,
                                    const CancelFlag& cancel);
  /// What make() made of the session's curves, at most 10,000 points an answer. Throws ValueError: the branch
  /// is gone.
  protocol::Series series(const protocol::GetBranchSeries& request);
  /// The variable that had this tensor as its value gets what the tensor is in the branch, recorded as any
  /// assignment; no breakpoint stops at it. Throws as value(), and ValueError where no such variable lives.
  protocol::TakenOver take_over(const protocol::TakeOver& request, const Find& original,
                                const CancelFlag& cancel);
  void drop(std::uint64_t branch);

  static constexpr std::size_t most_branches = 4;

 private:
  struct Kept {
    Kept(Branch made, BranchCurves drawn) : branch(std::move(made)), curves(std::move(drawn)) {}
    std::mutex mutex;  ///< a branch is used by one thread at a time
    Branch branch;
    const BranchCurves curves;
    std::uint64_t used = 0;
  };
  std::shared_ptr<Kept> find(std::uint64_t branch);
  std::uint64_t keep(Branch branch, BranchCurves curves);

  Recorder& recorder_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Kept>> branches_;
  std::uint64_t last_ = 0, uses_ = 0;
};

}  // namespace tapedeck::debug
