// Health's requests: the table, its curves, what the rules say, and samples of steps that nobody looked at.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "engine/debug/health/replayed.h"
#include "engine/debug/health/rules.h"
#include "engine/debug/jobs.h"
#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// All functions may be called from several threads. They throw BadRequest and Cancelled.
class HealthReader {
 public:
  explicit HealthReader(Recorder& recorder) : recorder_(recorder), steps_(recorder), replay_(recorder) {}

  protocol::Health table(const protocol::GetHealth& request, const CancelFlag* cancel);
  protocol::HealthCurve curve(const protocol::GetHealthCurve& request, const CancelFlag* cancel);
  protocol::HealthSampled sample(const protocol::SampleHealth& request, const FindHealthValue& find,
                                 const CancelFlag* cancel);
  protocol::HealthFindings findings(const protocol::GetHealthFindings& request, Past& past);

 private:
  /// Steps as far as the trace goes, and which of them were sampled.
  struct Run {
    std::size_t steps = 0;
    std::set<std::size_t> sampled;
    std::size_t recomputed = 0;
  };
  Run run(const CancelFlag* cancel);
  std::size_t step_of(std::uint32_t record);
  HealthPoints points_of(const std::vector<HealthSample>& samples);
  HealthCases cases();
  bool sample_step(std::size_t number, const FindHealthValue& find, const CancelFlag* cancel);
  std::set<std::size_t> quick_steps();
  std::optional<std::size_t> next_of_grid(const Run& run, std::set<std::size_t> quick, std::uint32_t wanted,
                                          std::size_t& done);
  std::optional<std::size_t> next_of_onsets(const Run& run);
  protocol::HealthRow row(const HealthSubjectData& data, std::uint32_t number, const std::string& text,
                          std::size_t steps, std::uint32_t columns);
  void place(protocol::HealthFinding& finding) const;
  void explain(protocol::HealthFinding& finding, Past& past);

  Recorder& recorder_;
  std::mutex steps_mutex_;  ///< guards steps_
  TrainingSteps steps_;
  std::mutex sample_mutex_;  ///< guards replay_: one replay at a time
  StepReplay replay_;
  std::mutex gone_mutex_;  ///< guards what follows
  std::set<std::size_t> gone_;
  std::string problem_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, protocol::HealthFinding> explained_;
};

/// What sentences and rows call the subjects, in their order: names that stand twice get their shape and a
/// number.
std::vector<std::string> health_texts(const std::vector<HealthSubject>& subjects);

}  // namespace tapedeck::debug
