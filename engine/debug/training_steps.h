// Groups records into training steps: the same for Time, Memory and Health.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// Whether an op updates variables: one of the engine's optimisers, or one of PyTorch's that writes inside of
/// an optimiser's step.
bool is_update(const OpDef* op, std::uint32_t scope, bool backward);

/// A step ends with updates of variables after a playback: an optimiser's update ops, or assignments to what
/// the playback was asked for. The next step begins after the last of them. In a program without tapes,
/// consecutive update ops of a thread form one step.
struct TrainingStep {
  std::uint32_t first = 0, last = 0;  ///< records
  std::uint32_t playback = 0;         ///< the first one; 0: the program plays no tape
  bool cut = false;                   ///< steps before it may have been forgotten: `first` is the playback
};

/// A variable's new value that no update op made.
struct HandUpdate {
  std::uint64_t variable = 0, before = 0, now = 0;  ///< ids: of the variable, and of its values
  std::uint32_t record = 0;                         ///< the newest one then
  std::uint64_t cell_run = 0;                       ///< number of the run of a cell; 0: in none
};

/// Incremental: extend() reads what the trace has gained. Used by one thread at a
/// time.
class TrainingSteps {
 public:
  /// Called for every update with the number of its step, from 1, and its record: an update op, or the newest
  /// one when a variable was assigned.
  using OnUpdate = std::function<void(std::size_t number, std::uint32_t record)>;
  explicit TrainingSteps(const Recorder& recorder, OnUpdate on_update = {})
      : recorder_(&recorder), on_update_(std::move(on_update)) {}
  /// Up to that record at most. Throws Cancelled.
  void extend(const CancelFlag* cancel, std::uint32_t to = Trace::newest_possible);
  std::size_t size() const { return steps_.size(); }
  /// From 1.
  const TrainingStep& at(std::size_t number) const { return steps_[number - 1]; }
  /// The step that the record belongs to, from 1; size() + 1 for a record after the last step.
  std::size_t step_of(std::uint32_t record) const;
  std::vector<HandUpdate> hand_updates(std::size_t number) const;
  /// Of the step that has no update yet; 0: there is none.
  std::uint32_t next_playback() const { return begun_.playback; }
  /// The newest record that was dropped before it was read; 0: none. Steps up to it are not counted.
  std::uint32_t forgotten() const { return unread_; }

 private:
  enum class What : std::uint8_t { playback, update, other };
  struct Event {
    std::uint32_t record = 0;
    std::uint16_t thread = 0;
    What what = What::other;
  };
  void read_data_flow();
  void find_sources();
  std::uint32_t read_events(std::uint32_t last, std::vector<Event>& events) const;
  void take(const Event& event);
  void take_playback(std::uint32_t record);
  void take_update(std::uint32_t record);
  void take_assignments(std::uint32_t before);
  bool made_by_update(std::uint64_t tensor) const;
  std::uint64_t cell_run_of(const Assignment& assignment) const;

  const Recorder* recorder_;
  OnUpdate on_update_;
  std::vector<TrainingStep> steps_;
  bool open_ = false;         ///< the last step may still get updates
  TrainingStep begun_;        ///< what comes behind the last step
  bool plays_ = false;        ///< a playback was seen
  std::uint16_t thread_ = 0;  ///< of the last update op
  std::uint32_t next_ = 1, unread_ = 0;
  std::uint64_t last_leaf_ = 0;
  std::deque<Assignment> assignments_;
  std::uint32_t forgotten_until_ = 0;  ///< of assignments after earlier records some were forgotten
  std::uint32_t last_asked_ = 0;
  std::deque<RequestedGradients> asked_;
  std::unordered_map<std::uint64_t, std::uint64_t> values_;  ///< of variables, now
  std::uint32_t playback_ = 0;                               ///< the newest that was taken
  std::unordered_set<std::uint64_t> sources_;                ///< that it was asked for
  std::map<std::size_t, std::vector<HandUpdate>> by_hand_;
};

}  // namespace tapedeck::debug
