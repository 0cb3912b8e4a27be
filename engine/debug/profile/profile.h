// Answers the requests of profile.h. Its index advances only on request.
#pragma once

#include <mutex>

#include "engine/debug/jobs.h"
#include "engine/debug/profile/index.h"
#include "engine/debug/profile/peaks.h"
#include "engine/debug/profile/trace_events.h"
#include "engine/debug/profile/views.h"
#include "engine/debug/training_steps.h"

namespace tapedeck::debug {

template <class Message>
concept AsksProfile =
    std::same_as<Message, protocol::GetProfile> || std::same_as<Message, protocol::GetProfileTrack> ||
    std::same_as<Message, protocol::GetProfileTotals> || std::same_as<Message, protocol::GetProfileFlame> ||
    std::same_as<Message, protocol::GetProfileSteps> || std::same_as<Message, protocol::GetProfileCost> ||
    std::same_as<Message, protocol::GetPeaks> || std::same_as<Message, protocol::GetChromeTrace>;

class Profiles {
 public:
  /// `peaks`: the folder in which they are kept.
  explicit Profiles(const Recorder& recorder, std::filesystem::path peaks = peaks_folder())
      : recorder_(recorder),
        events_(recorder),
        index_(events_),
        steps_(recorder, [this](std::size_t step, std::uint32_t record) { tell_update(step, record); }),
        peaks_folder_(std::move(peaks)) {
    texts_.execution = [&recorder](const std::string& cell, std::uint32_t record) {
      return recorder.cell_runs().execution_of(cell, record);
    };
  }

  /// Any thread may ask. Throw Cancelled, and BadRequest for what cannot be.
  protocol::Reply answer(const protocol::GetProfile& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetProfileTrack& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetProfileTotals& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetProfileFlame& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetProfileSteps& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetProfileCost& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetPeaks& asked, const CancelFlag& cancel);
  protocol::Reply answer(const protocol::GetChromeTrace& asked, const CancelFlag& cancel);

 private:
  /// Goes on with the index for a moment.
  std::unique_lock<std::mutex> advance(const CancelFlag& cancel);
  void tell_pauses();
  void tell_update(std::size_t step, std::uint32_t record);
  protocol::Peaks peaks() const;
  std::int64_t horizon() const;  ///< behind which nothing begins
  std::vector<protocol::ProfileRun> runs() const;
  /// Which one of its run's steps it is, from 1.
  std::uint64_t number_in_run(const StepTime& step) const;
  /// A reply with how far the index is.
  template <class Reply>
  Reply begun();
  struct Span {
    std::int64_t from = 0, to = 0;
  };
  Span span_of(std::int64_t from, std::optional<std::int64_t> to) const;  ///< without `to` up to horizon()

  const Recorder& recorder_;
  std::mutex mutex_;
  TraceEvents events_;
  ProfileIndex index_;
  TrainingSteps steps_;
  ProfileTexts texts_;
  std::vector<CellRun> cell_runs_;  ///< that the index knows
  std::uint64_t runs_seen_ = 0, waits_seen_ = 0;
  std::size_t unrecorded_seen_ = 0;
  bool idle_ = false;               ///< the last run ended, and the index knows
  std::mutex measure_mutex_;        ///< one measurement at a time
  mutable std::mutex peaks_mutex_;  ///< guards what follows
  std::filesystem::path peaks_folder_;
  protocol::Peaks peaks_;
};

}  // namespace tapedeck::debug
