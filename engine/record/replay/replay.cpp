#include "engine/record/replay/replay.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/ops/core/foreign.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_text.h"
#include "engine/record/values/missing_values.h"
#include "engine/tensor/block_pool.h"

namespace tapedeck {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const char* code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw ValueError(code, text.str());
}

/// Whether `found` matches the trace's spec of the record's output `i`.
bool as_recorded(const Recorder& recorder, const RecordView& record, std::size_t i, DType dtype,
                 const Shape& shape) {
  const TensorOrigin origin = recorder.trace().tensors().get(record.outputs[i]);
  if (!origin.known()) return true;
  const RecordedSpec spec = spec_of(origin.spec());
  return spec.dtype == dtype && spec.shape == shape;
}

/// For a trace file: throws ValueError if the op's result differs from what the file says.
void check_made(const Recorder& recorder, const RecordView& record, std::span<const TensorSpec> specs) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs.size() != record.outputs.size() ||
        !as_recorded(recorder, record, i, specs[i].dtype, specs[i].shape))
      refuse("gone", "Op ", record.number, " (", record.name(),
             ") gives another result than the trace file says: the file is damaged.");
}

TensorSpecs specs_of(const Tensors& tensors) {
  TensorSpecs specs;
  for (const Tensor& tensor : tensors) specs.push_back({tensor.dtype(), tensor.shape()});
  return specs;
}

Device device_of(const Recorder& recorder, const RecordView& record) {
  for (const std::uint64_t id : record.outputs) {
    const TensorOrigin origin = recorder.trace().tensors().get(id);
    if (id == 0 || !origin.known()) continue;
    const Device device = spec_of(origin.spec()).device;
    return device.kind == DeviceKind::gpu && int{device.index} >= gpu_count() ? Device{} : device;
  }
  return {};
}

class Replay {
 public:
  Replay(Recorder& recorder, std::uint64_t target, const ReplayLimits& limits, const CancelFlag* cancel,
         const ReplayProgress& progress)
      : recorder_(recorder), target_(target), limits_(limits), cancel_(cancel), progress_(progress) {}

  FoundValue run() {
    if (Tensor value = recorder_.values().held(target_)) return {value, false};
    plan();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      check(i, plan_.size());
      compute(plan_[i]);
    }
    return {values_.at(target_), true};
  }

 private:
  struct Step {
    std::uint32_t record = 0;
    /// If no record makes it: a variable's value, and the op's result that was assigned.
    std::uint64_t version = 0, made_of = 0;
  };
  struct Visit {
    Step step;
    TensorIds inputs;
    std::size_t next_input = 0;
  };

  void check(std::size_t done, std::size_t total) {
    check_cancelled(cancel_);
    if (!progress_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_progress_) return;
    next_progress_ = now + progress_interval;
    progress_(done, total);
  }

  /// Sorts the records whose outputs are needed topologically.
  void plan() {
    std::vector<Visit> stack;
    need(target_, stack);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next_input < visit.inputs.size()) {
        const std::uint64_t input = visit.inputs[visit.next_input++];
        if (input == 0) continue;  // an optional one that was not given
        ++uses_[input];
        need(input, stack);  // may reallocate the stack: `visit` is not used afterwards
        continue;
      }
      plan_.push_back(visit.step);
      stack.pop_back();
    }
  }

  void need(std::uint64_t id, std::vector<Visit>& stack) {
    check(0, 0);
    if (values_.contains(id)) return;
    const TensorOrigin origin = recorder_.trace().tensors().get(id);
    if (planned_.contains(origin.producer()) && origin.producer() != 0) return;
    if (planned_versions_.contains(id)) return;
    if (Tensor value = recorder_.values().held(id)) {
      values_.emplace(id, std::move(value));
      return;
    }
    if (const std::string reason = why_missing(id); !reason.empty())
      refuse("gone", "The value of ", tensor_text(recorder_, id), " is not available: ", reason, ".");
    if (!origin.known() && id != 0 && id < recorder_.trace().oldest_tensor())
      refuse("gone", "The value of tensor ", id,
             " is gone: the records that mention it were forgotten when the recording passed its number of "
             "records.");
    if (!origin.known() && recorder_.file() && !recorder_.file()->problem().empty())
      refuse("gone", "Nothing is known of tensor ", id, ": ", recorder_.file()->problem());
    if (!origin.known()) refuse("no_such_tensor", "No record mentions a tensor ", id, ".");
    const std::string unreadable =
        recorder_.file() && origin.stored() ? recorder_.file()->problem_of_value(id) : std::string();
    if (origin.is_leaf() && !unreadable.empty())
      refuse("gone", "The value of ", tensor_text(recorder_, id), " cannot be read: ", unreadable);
    if (const std::uint64_t made_of = origin.is_leaf() ? source_of(id) : 0) {
      planned_versions_.insert(id);
      TensorIds inputs;
      inputs.push_back(made_of);
      stack.push_back({{0, id, made_of}, std::move(inputs)});
      return;
    }
    if (origin.is_leaf() && origin.lost())
      refuse("gone", "The value of ", tensor_text(recorder_, id),
             " is gone: no op made it, and it was released when that recording ended.");
    if (origin.is_version())
      refuse("gone", "The value of ", tensor_text(recorder_, id),
             " is gone: the record of its assignment was forgotten.");
    if (origin.is_leaf())
      refuse("gone", "The value of ", tensor_text(recorder_, id),
             " is gone: no op made it, and it was dropped when the recording exceeded its budget.");
    RecordView record;
    if (!recorder_.trace().read(origin.producer(), record))
      refuse("gone", "The value of ", tensor_text(recorder_, id),
             " is gone: the record of the op that made it was forgotten when the recording passed its number "
             "of records.");
    if (record.state != RecordState::done || record.head.kind != EventKind::op)
      refuse("gone", "The value of ", tensor_text(recorder_, id),
             " is not available yet: the op is still running.");
    if (std::find(record.outputs.begin(), record.outputs.end(), id) == record.outputs.end())
      refuse("gone", "Op ", record.number, " (", record.name(), ") is said to have made tensor ", id,
             ", but did not: the trace file is damaged.");
    planned_.insert(origin.producer());
    stack.push_back({{record.number, 0, 0}, std::move(record.inputs)});
  }

  /// The op's result that was assigned as the variable's value; 0: unknown.
  std::uint64_t source_of(std::uint64_t version) const {
    const auto assignment = recorder_.data_flow().assignment_of(version);
    if (!assignment || assignment->value == 0 || assignment->value >= version) return 0;
    const TensorOrigin origin = recorder_.trace().tensors().get(assignment->value);
    return origin.producer() == 0 ? 0 : assignment->value;
  }

  void compute(const Step& step) {
    if (step.version != 0)
      take_over(step.version, step.made_of);
    else
      compute(step.record);
  }

  void take_over(std::uint64_t version, std::uint64_t made_of) {
    const Tensor value = values_.at(made_of);
    const RecordedSpec spec = spec_of(recorder_.trace().tensors().get(version).spec());
    if (value.dtype() != spec.dtype || value.shape() != spec.shape)
      refuse(
          "gone", "The value of ", tensor_text(recorder_, version),
          " is gone: it was converted when it was assigned, and was dropped when the recording exceeded its "
          "budget.");
    values_.insert_or_assign(version, value);
    if (uses_.at(made_of) == 1 && computed_.erase(made_of) > 0) computed_.insert(version);
    release(made_of);
  }

  void compute(std::uint32_t number) {
    RecordView record;
    if (!recorder_.trace().read(number, record))
      refuse("gone", "The value of ", tensor_text(recorder_, target_),
             " is gone: records on the way to it were forgotten meanwhile.");
    Tensors inputs;
    for (const std::uint64_t id : record.inputs) inputs.push_back(id != 0 ? values_.at(id) : Tensor());
    Tensors outputs;
    if (recorder_.file()) check_announced(recorder_, record, inputs, limits_.bytes);
    try {
      outputs = run_again(recorder_, record, inputs, record.head.attributes);
    } catch (const UnimplementedError& error) {  // as PyTorch's ops where PyTorch is not: it did not run
      refuse("gone", "Op ", number, " (", record.name(), ") cannot run again: ", error.what());
    } catch (const std::exception& error) {
      refuse("gone", "Op ", number, " (", record.name(), ") failed when it ran again: ", error.what());
    }
    inputs.clear();
    if (recorder_.file() && record.head.op->shape_of_values) check_made(recorder_, record, specs_of(outputs));
    for (std::size_t i = 0; i < outputs.size() && i < record.outputs.size(); ++i) {
      const std::uint64_t id = record.outputs[i];
      if (id != target_ && !uses_.contains(id)) continue;
      bytes_ += outputs[i].bytes();
      computed_.insert(id);
      values_.insert_or_assign(id, outputs[i]);
      recorder_.values().add_recomputed(id, outputs[i]);
    }
    for (const std::uint64_t id : record.inputs)
      if (id != 0) release(id);
    if (bytes_ > limits_.bytes)
      refuse("too_expensive", "Recomputing ", tensor_text(recorder_, target_), " takes more than ",
             detail::readable_bytes(limits_.bytes), " of memory.");
  }

  void release(std::uint64_t id) {
    if (--uses_.at(id) > 0 || id == target_) return;
    const auto found = values_.find(id);
    if (found == values_.end()) return;
    if (computed_.erase(id) > 0) bytes_ -= found->second.bytes();
    values_.erase(found);
  }

  static constexpr std::chrono::milliseconds progress_interval{100};
  Recorder& recorder_;
  const std::uint64_t target_;
  const ReplayLimits limits_;
  const CancelFlag* cancel_;
  const ReplayProgress& progress_;
  std::chrono::steady_clock::time_point next_progress_ =
      std::chrono::steady_clock::now() + 2 * progress_interval;
  std::vector<Step> plan_;
  std::unordered_set<std::uint32_t> planned_;
  std::unordered_set<std::uint64_t> planned_versions_;
  std::unordered_map<std::uint64_t, Tensor> values_;  ///< held ones and recomputed ones that are still needed
  std::unordered_map<std::uint64_t, std::size_t> uses_;
  std::unordered_set<std::uint64_t> computed_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Tensors run_again(const Recorder& recorder, const RecordView& record, std::span<const Tensor> inputs,
                  const Attributes& attributes) {
  const OpDef& op = *record.head.op;
  if (is_foreign(op)) {  // its inputs and attributes are as the other framework's call had them
    const QuietScope quiet;
    return op.forward({op, inputs, attributes, {}});
  }
  if (!recorder.replays_on_cpu()) return replay_op(op, inputs, attributes, device_of(recorder, record));
  // Copied here first: the program may have forbidden implicit copies of inputs.
  Tensors here;
  for (const Tensor& input : inputs) here.push_back(input ? input.on_host() : input);
  // A copy to a GPU stays here: the ops after it also run here.
  if (&op == &ops::copy_to_device_op)
    return replay_op(op, here, {to_string(Device{}), std::string()}, Device{});
  return replay_op(op, here, attributes, Device{});
}

TensorSpecs check_result_size(const RecordView& record, std::span<const Tensor> inputs,
                              const Attributes& attributes, std::uint64_t most_bytes) {
  const QuietScope quiet;
  const OpDef& op = *record.head.op;
  TensorSpecs specs = op.shape_rule({op, inputs, attributes, {}});
  std::uint64_t bytes = 0;
  for (const TensorSpec& spec : specs)
    bytes += std::min(static_cast<std::uint64_t>(element_count(spec.shape)), most_bytes + 1) *
             item_size(spec.dtype);
  if (bytes > most_bytes)
    refuse("too_expensive", "The results of op ", record.number, " (", record.name(), ") take more than ",
           detail::readable_bytes(most_bytes), " of memory.");
  return specs;
}

void check_announced(const Recorder& recorder, const RecordView& record, std::span<const Tensor> inputs,
                     std::uint64_t most_bytes) {
  TensorSpecs specs;
  try {
    specs = check_result_size(record, inputs, record.head.attributes, most_bytes);
  } catch (const ValueError&) {
    throw;
  } catch (const std::exception& error) {
    refuse("gone", "Op ", record.number, " (", record.name(), ") failed when it ran again: ", error.what());
  }
  check_made(recorder, record, specs);
}

FoundValue find_value(Recorder& recorder, std::uint64_t id, const ReplayLimits& limits,
                      const CancelFlag* cancel, const ReplayProgress& progress) {
  return Replay(recorder, id, limits, cancel, progress).run();
}

}  // namespace tapedeck
