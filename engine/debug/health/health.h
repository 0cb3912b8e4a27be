// Health's requests: the table, its curves, what the rules say, and samples of steps that were not sampled
// while they ran.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "engine/debug/health/replayed.h"
#include "engine/debug/health/rules.h"
#include "engine/debug/health/step_reader.h"
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
  /// The user asked whether a gradient is right: answers about custom ones count from now on.
  void checked(const protocol::Why& question, const protocol::Because& answer);

 private:
  /// A run of a cell, and which steps of all are its own.
  struct Run {
    protocol::HealthRun told;
    std::size_t first = 1, last = 0;  ///< of all steps
    std::set<std::size_t> sampled;    ///< of all steps
    std::uint32_t from = 0, to = 0;   ///< records of it and of its steps
    bool open = false;                ///< no run began after it
  };
  /// What Why said of a gradient of None or zeros; it is asked once.
  struct Reason {
    std::string sentence;
    protocol::HealthFinding place;
  };
  std::vector<Run> runs(const CancelFlag* cancel);
  /// The one of that number, else the newest with a step.
  static const Run& chosen(const std::vector<Run>& runs, std::optional<std::uint64_t> number);
  /// That one, or the newest of each cell.
  static std::vector<const Run*> asked_for(const std::vector<Run>& runs, std::optional<std::uint64_t> number);
  static std::size_t steps_of_all(const std::vector<Run>& runs);
  /// The samples of the run, in its own steps.
  HealthPoints points_of(const std::vector<HealthSample>& samples, const HealthSubject& subject,
                         const Run& run);
  std::size_t published_step(std::uint32_t record, std::uint32_t location) const;  ///< steps_mutex_ is held
  HealthCases cases(const HealthData& data, const Run& run);
  bool sample_step(const Run& run, std::size_t number, const FindHealthValue& find, const CancelFlag* cancel);
  std::set<std::size_t> quick_steps();
  std::optional<std::size_t> next_of_grid(const Run& run, std::set<std::size_t> quick, std::uint32_t wanted,
                                          std::size_t& done);
  std::optional<std::size_t> next_of_onsets(const Run& run, const HealthData& data);
  protocol::HealthRow row(const HealthSubjectData& data, std::uint32_t number, const std::string& text,
                          const Run& run, std::uint32_t columns);
  ProgramFacts program(const Run& run, Past& past, bool rests);
  std::vector<std::size_t> steps_to_read(const Run& run, bool rests);
  std::optional<StepToRead> step_to_read(const Run& run, std::size_t number);
  std::optional<StepFacts> facts_of(const Run& run, std::size_t number, Past& past, bool rests);
  std::optional<StepFacts> facts_behind(const Run& run, Past& past);
  std::optional<StepFacts> facts_without_steps(const Run& run, Past& past) const;
  std::uint64_t version() const;
  void place(protocol::HealthFinding& finding) const;
  void explain(protocol::HealthFinding& finding, const Run& run, Past& past);
  /// Why an update is zero though its gradient is not (explained_update.cpp).
  void explain_rest(protocol::HealthFinding& finding, const Run& run, Past& past);

  Recorder& recorder_;
  std::mutex steps_mutex_;  ///< guards steps_
  TrainingSteps steps_;
  std::mutex sample_mutex_;  ///< guards replay_: one replay at a time
  StepReplay replay_;
  mutable std::mutex gone_mutex_;  ///< guards what follows
  std::set<std::size_t> gone_;
  std::string problem_;
  struct ReadFacts {
    StepFacts facts;
    bool whole = false;  ///< values that were not held were recomputed
  };
  std::map<std::size_t, ReadFacts> facts_;                             ///< by step of all
  std::vector<CheckedGradient> checked_;                               ///< the newest last
  std::map<std::pair<std::uint64_t, std::size_t>, Reason> explained_;  ///< by subject, and step of all
};

/// What sentences and rows call the subjects, in their order: names that occur twice get their shape and a
/// number.
std::vector<std::string> health_texts(const std::vector<HealthSubject>& subjects);
/// The subjects' places, from 1, in the order of the table: the loss, the layers, what optimisers say.
std::vector<std::uint32_t> health_order(const std::vector<HealthSubject>& subjects);

}  // namespace tapedeck::debug
