// What if? The past with something changed: the ops after it that depend on it, run again beside the
// original, when somebody looks. Nothing in the session changes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/record/cancel.h"
#include "engine/record/replay/replay.h"

namespace tapedeck {

/// What an op does instead.
enum class Instead : std::uint8_t {
  skip,   ///< its result is its first input; of another shape or dtype: an error when it is looked at
  zero,   ///< its result is zeros
  scale,  ///< its result times `amount`
  clip,   ///< its result clipped to [-amount, amount]
  add,    ///< its result and `amount`
  set     ///< `amount` everywhere
};

/// One change of the past. Those of one tensor or record come one after the other.
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
  std::size_t input = 0;      ///< which of the op's; `instead` and `amount` say what becomes of it
  Instead instead = Instead::skip;
  double amount = 1;
  /// instead, but for skip: which of the op's results; nothing: all of them.
  std::optional<std::size_t> result = std::nullopt;
};

/// An op of a branch that cannot run on what comes to it now.
struct BranchError : ValueError {
  BranchError(std::uint32_t failed, bool is_changed, const std::string& reason)
      : ValueError(is_changed ? "bad_request" : "gone", reason), record(failed), changed(is_changed) {}
  std::uint32_t record;
  bool changed;  ///< the op is one that a change names
};

/// Of the values that a branch holds.
struct BranchLimits {
  std::uint64_t kept = std::uint64_t{512} << 20;  ///< above it goes what can be had again
  std::uint64_t bytes = ReplayLimits{}.bytes;     ///< at one moment: what needs more is refused
};

/// Used by one thread at a time. Random numbers stay those of the original, where no change names their op:
/// its place in the random sequence is in its attributes.
class Branch {
 public:
  /// The original value of a tensor; throws ValueError and Cancelled.
  using Find = std::function<Tensor(std::uint64_t tensor)>;
  /// Throws ValueError, code "bad_request", where a change makes no sense: no such tensor or record, another
  /// shape or dtype, an element outside.
  Branch(const Recorder& recorder, std::vector<Change> changes, const BranchLimits& limits = {});

  /// Whether the tensor may differ from the original. Throws Cancelled.
  bool depends(std::uint64_t tensor, const CancelFlag* cancel = nullptr);
  /// Something that was looked at until now comes of what is newer than the changes, but whose record or
  /// assignment was forgotten: it may depend on them, and counts as if it did not.
  bool cut_off() const { return cut_off_; }
  /// Its value in the branch: the original where it does not depend on a change. Throws ValueError, code
  /// "too_expensive" where it takes more memory than the limit, and BranchError where an op refuses what
  /// comes to it now.
  Tensor value(std::uint64_t tensor, const Find& original, const CancelFlag* cancel = nullptr,
               const ReplayProgress& progress = {});

 private:
  struct Visit {
    std::uint64_t tensor = 0;
    TensorIds inputs;
    std::size_t next = 0;
  };

  void check(const Change& change) const;
  /// Positions in `changes_`, rising.
  std::span<const std::size_t> changes_of_tensor(std::uint64_t tensor) const;
  std::span<const std::size_t> changes_of_record(std::uint32_t record) const;
  bool is_changed(std::uint64_t tensor) const { return !changes_of_tensor(tensor).empty(); }
  bool is_replaced(std::uint64_t tensor) const;  ///< whatever it was
  bool is_changed_op(std::uint32_t record) const { return record != 0 && of_record_.contains(record); }
  /// Of an op of which changes name some results, only those.
  bool is_changed_result(std::uint64_t tensor) const;
  /// The value after the changes that name the tensor.
  Tensor changed(std::uint64_t tensor, Tensor value) const;
  Attributes attributes_of(const RecordView& record) const;
  void change_inputs(const RecordView& record, Tensors& inputs) const;
  /// What the tensor was made of: its op's inputs, or the value that was assigned to the variable.
  TensorIds made_of(std::uint64_t tensor) const;
  /// It was, or may have been, made of something, but nobody knows of what any more.
  bool is_forgotten(std::uint64_t tensor) const;
  std::vector<Visit> plan(std::uint64_t tensor, const CancelFlag* cancel);
  void run(const std::vector<Visit>& plan, const Find& original, const CancelFlag* cancel,
           const ReplayProgress& progress);
  void compute(std::uint64_t tensor, const Find& original);
  Tensors run(const RecordView& record, const Find& original);
  void keep(std::uint64_t tensor, Tensor value);
  void taken(std::uint64_t tensor);
  void may_go(std::uint64_t tensor);
  void end_plan();
  void forget();

  struct Held {
    Tensor value;
    bool queued = false;  ///< it stands in `order_`
  };
  const Recorder& recorder_;
  const std::vector<Change> changes_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> of_tensor_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_record_;
  const BranchLimits limits_;
  std::uint64_t first_ = UINT64_MAX;  ///< older tensors depend on no change: ids grow with time
  std::unordered_map<std::uint64_t, bool> depends_;
  bool cut_off_ = false;
  std::unordered_map<std::uint64_t, Held> values_;
  std::unordered_map<std::uint64_t, std::size_t> uses_;  ///< how often the plan still takes each: those stay
  std::deque<std::uint64_t> order_;                      ///< the others, those that may go first in front
  std::uint64_t bytes_ = 0;
};

}  // namespace tapedeck
