// What if? A changed past: ops that depend on the changes run again beside the original, on demand. Nothing
// in the session changes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/record/cancel.h"
#include "engine/record/replay/replay.h"
#include "engine/record/values/memory_parts.h"

namespace tapedeck {

/// What a changed op does instead.
enum class Instead : std::uint8_t {
  skip,   ///< its result is its first input; an error on access if shape or dtype differ
  zero,   ///< its result is zeros
  scale,  ///< its result times `amount`
  clip,   ///< its result clipped to [-amount, amount]
  add,    ///< its result plus `amount`
  set     ///< `amount` everywhere
};

/// One change of the past. Several changes of one tensor or record apply in order.
struct Change {
  enum class Kind : std::uint8_t {
    value,      ///< the tensor has another value
    element,    ///< one of its elements has
    attribute,  ///< the record's op has another attribute (a seed, an axis)
    input,      ///< the record's op, and no other, takes one of its inputs scaled, clipped, added to or set
    instead     ///< the record's op does something else
  };
  Kind kind = Kind::value;
  std::uint64_t tensor = 0;
  Tensor value;            ///< value: of the tensor's dtype and shape
  std::int64_t place = 0;  ///< element: in row-major order
  double number = 0;       ///< element: its value
  std::uint32_t record = 0;
  std::size_t attribute = 0;  ///< which of the op's
  Attribute setting;          ///< its new value; another `seed` brings other random numbers
  std::size_t input = 0;      ///< which of the op's; `instead` and `amount` say how it changes
  Instead instead = Instead::skip;
  double amount = 1;
  /// instead, but for skip: which of the op's results; nothing: all of them.
  std::optional<std::size_t> result = std::nullopt;
};

/// An op of a branch cannot run on its changed inputs.
struct BranchError : ValueError {
  BranchError(std::uint32_t failed, bool is_changed, const std::string& reason)
      : ValueError(is_changed ? "bad_request" : "gone", reason), record(failed), changed(is_changed) {}
  std::uint32_t record;
  bool changed;  ///< a change names this op
};

/// Limits of the values that a branch holds.
struct BranchLimits {
  std::uint64_t kept = std::uint64_t{512} << 20;  ///< above it, values that can be recomputed are dropped
  std::uint64_t bytes = ReplayLimits{}.bytes;     ///< at one moment: an error if more is needed
};

/// Used by one thread at a time. Random numbers stay those of the original unless a change names their op:
/// its position in the random sequence is an attribute. Those of PyTorch's ops always stay.
class Branch {
 public:
  /// The original value of a tensor; throws ValueError and Cancelled.
  using Find = std::function<Tensor(std::uint64_t tensor)>;
  /// Throws ValueError, code "bad_request", for an invalid change: unknown tensor or record, wrong shape or
  /// dtype, element out of range.
  Branch(const Recorder& recorder, std::vector<Change> changes, const BranchLimits& limits = {});

  /// Whether the tensor may differ from the original. Throws Cancelled.
  bool depends(std::uint64_t tensor, const CancelFlag* cancel = nullptr);
  /// Whether a value looked at so far depends on a tensor that is newer than the changes but whose record or
  /// assignment was forgotten: it may depend on the changes, and is treated as if it did not.
  bool cut_off() const { return cut_off_; }
  /// Records of PyTorch's random ops that keep their results though what they take depends on a change.
  const std::set<std::uint32_t>& kept_random() const { return kept_random_; }
  /// Its value in the branch: the original if it does not depend on a change. Throws ValueError, code
  /// "too_expensive", if it takes more memory than the limit, and BranchError if an op rejects its changed
  /// inputs.
  Tensor value(std::uint64_t tensor, const Find& original, const CancelFlag* cancel = nullptr,
               const ReplayProgress& progress = {});

 private:
  struct Visit {
    std::uint64_t tensor = 0;
    TensorIds inputs;
    std::size_t next = 0;
  };

  void check(const Change& change) const;
  void find_held_results();
  /// The record that made it; 0: none, or it was forgotten.
  std::uint32_t producer_of(std::uint64_t tensor) const;
  /// Positions in `changes_`, rising.
  std::span<const std::size_t> changes_of_tensor(std::uint64_t tensor) const;
  std::span<const std::size_t> changes_of_record(std::uint32_t record) const;
  bool is_changed(std::uint64_t tensor) const { return !changes_of_tensor(tensor).empty(); }
  bool is_replaced(std::uint64_t tensor) const;  ///< its original value does not matter
  bool is_changed_op(std::uint32_t record) const { return record != 0 && of_record_.contains(record); }
  /// Of an op of which changes name some results, only those.
  bool is_changed_result(std::uint64_t tensor) const;
  /// The value after the changes that name the tensor.
  Tensor changed(std::uint64_t tensor, Tensor value) const;
  Attributes attributes_of(const RecordView& record) const;
  void change_inputs(const RecordView& record, Tensors& inputs) const;
  /// Where no record and no assignment made the tensor: what was seen of its memory; nullptr: nothing was.
  std::shared_ptr<const SharedPlace> memory_of(std::uint64_t tensor) const;
  /// What the tensor was computed from: its op's inputs, the value assigned to the variable, or what was
  /// written into its memory.
  TensorIds made_of(std::uint64_t tensor) const;
  /// Whether it was, or may have been, computed from something that is forgotten.
  bool is_forgotten(std::uint64_t tensor) const;
  std::vector<Visit> plan(std::uint64_t tensor, const CancelFlag* cancel);
  void run(const std::vector<Visit>& plan, const Find& original, const CancelFlag* cancel,
           const ReplayProgress& progress);
  void compute(std::uint64_t tensor, const Find& original);
  Tensor from_memory(const SharedPlace& shared, std::uint64_t tensor, const Find& original);
  Tensors run(const RecordView& record, const Find& original);
  Tensors run_op_of(const RecordView& record, const Tensors& inputs, const Attributes& attributes,
                    const Find& original);
  void keep(std::uint64_t tensor, Tensor value);
  void taken(std::uint64_t tensor);
  void may_go(std::uint64_t tensor);
  void end_plan();
  void forget();

  struct Held {
    Tensor value;
    bool queued = false;  ///< it is in `order_`
  };
  const Recorder& recorder_;
  const std::vector<Change> changes_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> of_tensor_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_record_;
  const BranchLimits limits_;
  std::uint64_t first_ = UINT64_MAX;  ///< older tensors depend on no change: ids grow with time
  std::unordered_map<std::uint64_t, bool> depends_;
  bool cut_off_ = false;
  std::set<std::uint32_t> kept_random_;
  /// By which record: results of PyTorch's ops that cannot run again are leaves of the trace, but depend on
  /// what the op took.
  std::unordered_map<std::uint64_t, std::uint32_t> held_results_;
  std::unordered_map<std::uint64_t, Held> values_;
  std::unordered_map<std::uint64_t, std::size_t> uses_;  ///< how often the plan still needs each: those stay
  std::deque<std::uint64_t> order_;                      ///< the others, the first to drop in front
  std::uint64_t bytes_ = 0;
};

}  // namespace tapedeck
