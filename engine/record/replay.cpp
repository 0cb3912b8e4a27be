#include "engine/record/replay.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/ops/run_op.h"
#include "engine/record/tensor_specs.h"

namespace tapedeck {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const char* code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw ValueError(code, text.str());
}

std::string describe(const TensorOrigin& origin, std::uint64_t id) {
  const RecordedSpec spec = spec_of(origin.spec());
  return "tensor " + std::to_string(id) + " (" + std::string(dtype_name(spec.dtype)) + " " +
         to_string(spec.shape) + ")";
}

class Replay {
 public:
  Replay(const Recorder& recorder, std::uint64_t target, const ReplayLimits& limits, const CancelFlag* cancel)
      : recorder_(recorder), target_(target), limits_(limits), cancel_(cancel) {}

  FoundValue run() {
    if (Tensor value = recorder_.values().held(target_)) return {value, false};
    plan();
    for (RecordView& record : plan_) compute(record);
    return {values_.at(target_), true};
  }

 private:
  struct Visit {
    RecordView record;
    std::size_t next_input = 0;
  };

  void check() {
    check_cancelled(cancel_);
    if (std::chrono::steady_clock::now() - start_ > limits_.time)
      refuse("too_expensive", "Recomputing tensor ", target_, " takes longer than ",
             static_cast<double>(limits_.time.count()) / 1000, " s.");
  }

  /// Puts the records whose outputs are needed in an order in which each comes after what it needs.
  void plan() {
    std::vector<Visit> stack;
    need(target_, stack);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next_input < visit.record.inputs.size()) {
        const std::uint64_t input = visit.record.inputs[visit.next_input++];
        ++uses_[input];
        need(input, stack);  // may move the stack: `visit` is not used after it
        continue;
      }
      plan_.push_back(std::move(visit.record));
      stack.pop_back();
      if (plan_.size() > limits_.ops)
        refuse("too_expensive", "Recomputing tensor ", target_, " takes more than ", limits_.ops, " ops.");
    }
  }

  void need(std::uint64_t id, std::vector<Visit>& stack) {
    check();
    if (values_.contains(id)) return;
    const TensorOrigin origin = recorder_.trace().tensors().get(id);
    if (planned_.contains(origin.producer()) && origin.producer() != 0) return;
    if (Tensor value = recorder_.values().held(id)) {
      values_.emplace(id, std::move(value));
      return;
    }
    if (!origin.known()) refuse("no_such_tensor", "No record mentions a tensor ", id, ".");
    if (origin.is_leaf())
      refuse("gone", "The value of ", describe(origin, id),
             " is gone: no op made it, and it had to go when the recording passed its budget.");
    Visit visit;
    if (!recorder_.trace().read(origin.producer(), visit.record))
      refuse("gone", "The value of ", describe(origin, id), " is gone: the record of the op that made it, ",
             origin.producer(), ", was forgotten when the recording passed its number of records.");
    if (visit.record.state != RecordState::done || visit.record.head.kind != EventKind::op)
      refuse("gone", "The value of ", describe(origin, id), " is not there yet: op ", origin.producer(),
             " is still running.");
    planned_.insert(origin.producer());
    stack.push_back(std::move(visit));
  }

  void compute(RecordView& record) {
    check();
    Tensors inputs;
    for (const std::uint64_t id : record.inputs) inputs.push_back(values_.at(id));
    Tensors outputs;
    try {
      outputs = replay_op(*record.head.op, inputs, record.head.attributes);
    } catch (const std::exception& error) {
      refuse("gone", "Op ", record.number, " failed when it ran again: ", error.what());
    }
    inputs.clear();
    for (std::size_t i = 0; i < outputs.size() && i < record.outputs.size(); ++i) {
      const std::uint64_t id = record.outputs[i];
      if (id != target_ && !uses_.contains(id)) continue;
      bytes_ += outputs[i].bytes();
      computed_.insert(id);
      values_.insert_or_assign(id, outputs[i]);
    }
    for (const std::uint64_t id : record.inputs) release(id);
    if (bytes_ > limits_.bytes)
      refuse("too_expensive", "Recomputing tensor ", target_, " takes more than ", limits_.bytes >> 20,
             " MB of memory.");
  }

  void release(std::uint64_t id) {
    if (--uses_.at(id) > 0 || id == target_) return;
    const auto found = values_.find(id);
    if (found == values_.end()) return;
    if (computed_.erase(id) > 0) bytes_ -= found->second.bytes();
    values_.erase(found);
  }

  const Recorder& recorder_;
  const std::uint64_t target_;
  const ReplayLimits limits_;
  const CancelFlag* cancel_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<RecordView> plan_;
  std::unordered_set<std::uint32_t> planned_;
  std::unordered_map<std::uint64_t, Tensor> values_;  ///< held ones and recomputed ones that are still needed
  std::unordered_map<std::uint64_t, std::size_t> uses_;
  std::unordered_set<std::uint64_t> computed_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

FoundValue find_value(const Recorder& recorder, std::uint64_t id, const ReplayLimits& limits,
                      const CancelFlag* cancel) {
  return Replay(recorder, id, limits, cancel).run();
}

}  // namespace tapedeck
