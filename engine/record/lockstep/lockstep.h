// Two runs of one function, the second beside what is known of the first: it stops right after the first op
// that differs.
//
// The first run's ops are kept in their order, with the values that they took and wrote as far as a limit
// allows, else with a digest of what they wrote. As the ops of the second run begin and end, each is compared
// with its partner. Only the thread that began the lockstep counts; ops of others pass.
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

/// Thrown out of the op at which the second run stops.
struct LockstepDifferenceError : Error {
  using Error::Error;
};

struct LockstepOptions {
  std::optional<double> rtol, atol;  ///< none: by the dtypes, see tolerance_of
  /// One of the settings changes dtypes or devices: values need not be the same to the last bit, and
  /// conversions between floating dtypes are no ops.
  bool loose = false;
  std::optional<DType> narrowest;                      ///< of the dtypes that the settings name
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;  ///< of the values that are held
};

/// Of two results of these dtypes. Without tolerances of the caller's: none where the runs are not loose;
/// else half of the digits of the narrower dtype, and 64 units in the last place of the tensor's largest
/// magnitude, as sums of terms that cancel have them.
Tolerance tolerance_of(const LockstepOptions& options, DType first, DType second);

/// One op, custom gradient, VJP or playback of a run.
struct LockstepEvent {
  EventKind kind = EventKind::op;
  const OpDef* op = nullptr;
  bool custom = false;
  bool failed = false;
  std::uint32_t number = 0;  ///< of ops: from 1, counted in its run; of others: of the op before
  std::uint32_t location = 0;
  std::uint64_t record = 0;  ///< 0: no recorder
  std::string name;          ///< where there is no op
  Tensors inputs, outputs;   ///< empty where they are not held
  bool inputs_held = false, outputs_held = false;
  std::vector<Digest> digests;  ///< of the outputs that are not held
};

struct LockstepDifference {
  enum class Reason {
    value,     ///< what an op wrote
    shape,     ///< an output has another shape, or dtype
    sequence,  ///< another op
    failure,   ///< an op failed in one of the runs, and the run went on
    longer,    ///< the second run goes on where the first one ended
    shorter    ///< the second one ended first
  };
  Reason reason = Reason::value;
  LockstepEvent first, second;  ///< `first` of longer and `second` of shorter are those before the end
  std::size_t output = 0;       ///< which of the outputs
  TensorDifference values;
  Tolerance tolerance;
  bool statistics_only = false;  ///< the first run's values were not held
  /// Of the operands that both sides have: the largest difference over the largest magnitude. None: not
  /// known.
  std::optional<double> inputs_apart;
};

struct LockstepReport {
  std::uint32_t ops = 0;              ///< that were compared
  std::uint32_t statistics_only = 0;  ///< of which the first run's values were not held
  std::uint64_t held_bytes = 0;       ///< the most
  /// The largest difference within the tolerance, over the tensor's largest magnitude; 0: all values are the
  /// same.
  double largest = 0;
  TensorDifference where;
  LockstepEvent first, second;  ///< whose; without values
  std::size_t output = 0;
  std::optional<LockstepDifference> difference;
};

class Lockstep final : public FrontObserver {
 public:
  static Lockstep& instance();

  /// The calling thread's ops are the first run from now on. Throws FailedPreconditionError where a lockstep
  /// runs already.
  void start(const LockstepOptions& options);
  /// What ran since start() is forgotten: the first run begins again.
  void start_again();
  /// The calling thread's ops are the second run from now on.
  void second_run();
  /// Between the runs: ops are no part of them.
  void pause();
  /// The lockstep is over. `complete`: the second run came to its end.
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
  // The rest belongs to the thread that began it.
  std::atomic<std::thread::id> thread_{};
  Phase phase_ = Phase::idle;
  LockstepOptions options_;
  std::deque<LockstepEvent> first_;
  /// What has begun and not ended: its place in the run, or `ignored`; of the second run with what was noted.
  struct Open {
    std::int64_t place = ignored;
    LockstepEvent noted;
    bool hides = false;  ///< what begins inside is no part of the runs
  };
  std::vector<Open> open_;
  std::int64_t place_ = 0;  ///< of what begins next
  std::uint32_t ops_ = 0;   ///< of this run so far
  LockstepEvent last_;      ///< of the second run; without values
  std::unordered_set<const void*> storages_;
  std::uint64_t held_ = 0;
  LockstepReport report_;
};

}  // namespace tapedeck
