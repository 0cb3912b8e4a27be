// What an analysis reads of the past: records, their values (by replay if they are not held), and
// dependencies.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "engine/debug/jobs.h"
#include "engine/protocol/why.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// Used by one thread.
class Past {
 public:
  /// The value of a tensor; throws ValueError and Cancelled.
  using Find = std::function<Tensor(std::uint64_t tensor)>;
  Past(const Recorder& recorder, Find find, const CancelFlag* cancel, Jobs::Report report)
      : recorder_(recorder), find_(std::move(find)), cancel_(cancel), report_(std::move(report)) {}
  Past(const Past&) = delete;

  const Recorder& recorder() const { return recorder_; }
  const CancelFlag* cancel() const { return cancel_; }
  /// Called for each step of the work. Throws Cancelled.
  void step(std::uint64_t done, std::uint64_t total = 0);

  /// nullptr if there is none, or it was dropped. Valid while the Past lives.
  const RecordView* record(std::uint64_t number);
  Tensor value(std::uint64_t tensor) { return find_(tensor); }
  /// The values of a record's inputs; undefined where an optional one was not given.
  Tensors inputs(const RecordView& record);
  /// What made the tensor; nullptr: no op.
  const RecordView* maker(std::uint64_t tensor);
  /// Of a gradient that no op made, because it was written through a view: the VJP that gave it, of
  /// PyTorch's.
  const RecordView* giver(std::uint64_t tensor);
  /// Which output of its maker it is.
  static std::size_t output_of(const RecordView& maker, std::uint64_t tensor);
  /// Where a variable's value was assigned from.
  std::optional<Assignment> assignment(std::uint64_t tensor) const {
    return recorder_.data_flow().assignment_of(tensor);
  }
  /// The innermost record of that kind that `record` is, or ran inside of; nullptr: none.
  const RecordView* around(const RecordView& record, EventKind kind);

  protocol::TensorInfo info(std::uint64_t tensor) const;
  /// A reason with the fields that the record provides.
  protocol::Reason reason(const RecordView& record, const std::string& role, std::string sentence) const;
  /// "log (op 12, line 3)".
  std::string name(const RecordView& record) const;

 private:
  const Recorder& recorder_;
  const Find find_;
  const CancelFlag* cancel_;
  const Jobs::Report report_;
  std::chrono::steady_clock::time_point next_report_ = std::chrono::steady_clock::now() + first_report;
  void find_held_results();
  std::unordered_map<std::uint32_t, std::unique_ptr<RecordView>> records_;
  /// Records of results that are held as leaves, because they cannot be computed again: of PyTorch's ops.
  std::optional<std::unordered_map<std::uint64_t, std::uint32_t>> held_results_;
  std::unordered_map<std::uint64_t, std::uint32_t> held_gradients_;  ///< the same of VJPs
  static constexpr std::chrono::milliseconds first_report{200}, report_interval{100};
};

}  // namespace tapedeck::debug
