// Compares two runs of one function: the second stops right after the first op that differs.
//
// The first run's ops are kept in order, with their inputs and outputs up to a memory limit, beyond it with a
// digest of their outputs. Each op of the second run is compared with its partner as it begins and ends. Only
// ops of the thread that began the lockstep count.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "engine/ops/core/front_observer.h"
#include "engine/record/values/tensor_difference.h"

namespace tapedeck {

/// Thrown by the op at which the second run stops.
struct LockstepDifferenceError : Error {
  using Error::Error;
};

struct LockstepOptions {
  std::optional<double> rtol, atol;  ///< nullopt: from the dtypes, see tolerance_of
  /// One of the settings changes dtypes or devices: values need not be bit-identical, and conversions between
  /// floating-point dtypes are ignored.
  bool loose = false;
  std::optional<DType> narrowest;                      ///< of the dtypes that the settings name
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;  ///< of the values that are held
};

/// The tolerance for two results of these dtypes. Unless the caller gives one: zero if the runs are not
/// loose; else half of the narrower dtype's digits, plus 64 units in the last place of the tensor's largest
/// magnitude, the error of sums with cancellation.
Tolerance tolerance_of(const LockstepOptions& options, DType first, DType second);

/// One op, custom gradient, VJP or playback of a run.
struct LockstepEvent {
  EventKind kind = EventKind::op;
  const OpDef* op = nullptr;
  bool custom = false;
  bool failed = false;
  std::uint32_t number = 0;  ///< ops: from 1, counted per run; others: that of the previous op
  std::uint32_t location = 0;
  std::uint64_t record = 0;  ///< 0: no recorder
  std::string name;          ///< if there is no op
  Tensors inputs, outputs;   ///< empty if not held
  bool inputs_held = false, outputs_held = false;
  std::vector<Digest> digests;  ///< of outputs that are not held
};

struct LockstepDifference {
  enum class Reason {
    value,     ///< an output has other values
    shape,     ///< an output has another shape, or dtype
    sequence,  ///< a different op
    failure,   ///< an op failed in one of the runs, which continued
    longer,    ///< the second run continues where the first one ended
    shorter    ///< the second one ended first
  };
  Reason reason = Reason::value;
  LockstepEvent first, second;  ///< `first` of longer and `second` of shorter are those before the end
  std::size_t output = 0;       ///< which of the outputs
  TensorDifference values;
  Tolerance tolerance;
  bool statistics_only = false;  ///< the first run's values were not held
  /// The largest difference of the operands that both sides have / the largest magnitude. nullopt: unknown.
  std::optional<double> inputs_apart;
};

struct LockstepReport {
  std::uint32_t ops = 0;              ///< how many were compared
  std::uint32_t statistics_only = 0;  ///< of these: compared by statistics, as values were not held
  std::uint64_t held_bytes = 0;       ///< the largest amount held at a time
  /// The largest difference within the tolerance / the tensor's largest magnitude; 0: all values are equal.
  double largest = 0;
  TensorDifference where;
  LockstepEvent first, second;  ///< the events that `largest` belongs to, without values
  std::size_t output = 0;
  std::optional<LockstepDifference> difference;
};

class Lockstep final : public FrontObserver {
 public:
  static Lockstep& instance();

  /// Starts the first run with the calling thread's ops. Throws FailedPreconditionError if a lockstep is
  /// already running.
  void start(const LockstepOptions& options);
  /// Discards what ran since start() and restarts the first run.
  void start_again();
  /// Starts the second run with the calling thread's ops.
  void second_run();
  /// Between the runs: ops belong to neither.
  void pause();
  /// Ends the lockstep. `complete`: the second run reached its end.
  LockstepReport finish(bool complete);
  bool runs() const { return running_.load(); }

 protected:
  void begun(const Event& event, std::uint64_t record) override;
  void ended(const Event& event, std::uint64_t record, std::span<const Tensor> outputs,
             const char* error) override;

 private:
  enum class Phase { idle, first, second };
  static constexpr std::int64_t ignored = -1;

  bool concerns() const;
  bool is_ignored(const Event& event);
  LockstepEvent note(const Event& event, std::uint64_t record);
  bool hold(std::span<const Tensor> tensors);
  void end_first(LockstepEvent& noted, std::span<const Tensor> outputs, const char* error);
  void end_second(LockstepEvent& partner, LockstepEvent& noted, std::span<const Tensor> outputs);
  void compare_output(LockstepEvent& partner, LockstepEvent& noted, std::size_t output);
  [[noreturn]] void stop(LockstepDifference difference);

  std::atomic<bool> running_{false};
  // Only the thread that began it uses the rest.
  std::atomic<std::thread::id> thread_{};
  Phase phase_ = Phase::idle;
  LockstepOptions options_;
  std::deque<LockstepEvent> first_;
  /// An event that has not ended: its position in the run, or `ignored`; in the second run with its recorded
  /// partner.
  struct Open {
    std::int64_t place = ignored;
    LockstepEvent noted;
    bool hides = false;  ///< events inside are not part of the runs
  };
  std::vector<Open> open_;
  std::int64_t place_ = 0;  ///< of the next event
  std::uint32_t ops_ = 0;   ///< of this run so far
  LockstepEvent last_;      ///< of the second run; without values
  std::unordered_set<const void*> storages_;
  std::uint64_t held_ = 0;
  LockstepReport report_;
};

}  // namespace tapedeck
