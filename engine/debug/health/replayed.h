// Samples of a step that was not sampled while it ran: its values are recomputed.
#pragma once

#include <functional>
#include <map>

#include "engine/debug/training_steps.h"

namespace tapedeck::debug {

/// The value of a tensor; throws ValueError and Cancelled.
using FindHealthValue = std::function<Tensor(std::uint64_t tensor)>;

/// The same samples as those that were taken while the step ran. Used by one thread at a time.
class StepReplay {
 public:
  explicit StepReplay(Recorder& recorder) : recorder_(recorder) {}
  /// Puts the step's samples into the recorder's store. Throws ValueError (a value cannot be had: nothing is
  /// put) and Cancelled.
  void sample(const TrainingStep& step, const std::vector<HandUpdate>& by_hand, const FindHealthValue& find,
              const CancelFlag* cancel);

 private:
  struct Playback {
    std::uint32_t record = 0, location = 0;
    std::vector<std::uint64_t> targets, gradients;
  };
  struct Update {
    std::uint32_t record = 0;
    std::uint64_t before = 0, gradient = 0, now = 0;
  };
  struct Found {
    std::vector<Playback> playbacks;
    std::vector<ActivationCall> activations;
    std::vector<Update> updates;
    std::uint64_t first_write = 0;  ///< first result of PyTorch's first update; 0: there is none
  };
  Found collect(const TrainingStep& step, const CancelFlag* cancel) const;
  std::vector<HandUpdate> foreign_updates(const TrainingStep& step, const Found& found,
                                          const std::map<std::uint64_t, HealthSubject>& variables) const;
  std::vector<std::uint64_t> variables_of(const Playback& playback,
                                          const std::vector<std::uint64_t>& sources);

  Recorder& recorder_;
  /// The variables that a playback of that line is asked for, while the recorder knows them: their ids.
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<std::uint64_t>> known_;
};

}  // namespace tapedeck::debug
