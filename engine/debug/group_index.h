// Runs of cells, steps and scopes of the records, for the headings of Ops. Incremental: each record is read
// once.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/debug/calls_around.h"
#include "engine/debug/training_steps.h"
#include "engine/protocol/messages.h"

namespace tapedeck::debug {

class GroupIndex {
 public:
  explicit GroupIndex(const Recorder& recorder) : recorder_(recorder), steps_(recorder) {}
  /// Continues for about 50 ms. Records that were dropped before they were read have no scope and belong to
  /// no step; what was read stays known. Throws Cancelled.
  protocol::RecordGroups read(const protocol::GetRecordGroups& request, const CancelFlag* cancel = nullptr);

 private:
  struct Run {
    CellRun run;
    std::uint64_t of_cell = 0;  ///< 0: not known, for earlier ones were forgotten unread
  };
  struct Step {
    std::uint32_t first = 0, last = 0;
    std::size_t run = 0;       ///< place in runs_, from 1; 0: in none
    std::uint64_t number = 0;  ///< in its run
  };
  void read_runs();
  void read_records(const CancelFlag* cancel);
  std::uint32_t read_scopes(std::uint32_t last);
  void take(const RecordGlance& record);
  void number_steps();
  void add_scope(std::uint32_t record, std::uint32_t scope, std::uint32_t call);

  void tell_scopes(std::uint64_t first, protocol::RecordGroups& answer) const;
  void tell_steps(std::uint64_t first, protocol::RecordGroups& answer) const;
  void tell_runs(std::uint64_t first, protocol::RecordGroups& answer) const;

  const Recorder& recorder_;
  std::mutex mutex_;
  TrainingSteps steps_;
  std::uint32_t next_ = 1;  ///< the first record that was not read
  /// Records from `record` on that have this scope and are in this call, 0: in none.
  struct Stretch {
    std::uint32_t record = 0, scope = 0, call = 0;
  };
  struct Call {
    std::uint32_t record = 0, around = 0, name = 0, scope = 0;
  };
  std::vector<Stretch> scopes_;
  std::vector<Call> calls_;
  CallsAround around_;
  std::vector<Step> told_steps_;
  std::vector<Run> runs_;
  std::unordered_map<std::string, std::uint64_t> runs_of_cell_;
};

}  // namespace tapedeck::debug
