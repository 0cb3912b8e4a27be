#include "engine/debug/why/wide_run.h"

#include <algorithm>

#include "engine/debug/why/vjp_again.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

Tensors widened(Tensors tensors) {
  for (Tensor& tensor : tensors) tensor = to_float64(tensor);
  return tensors;
}

Tensors run_as_recorded(const RecordView& record, std::span<const Tensor> inputs,
                        std::span<const DType> dtypes) {
  Tensors narrow;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    narrow.push_back(!inputs[k] || inputs[k].dtype() == dtypes[k] ? inputs[k]
                                                                  : in_dtype(inputs[k], dtypes[k]));
  return widened(replay_op(*record.head.op, narrow, record.head.attributes));
}

/// The records inside of `custom` that its outputs were made by, in order, from `given` on; `leaf` is called
/// with what none of them made.
template <class Leaf>
std::set<std::uint32_t> records_inside(Past& past, const RecordView& custom,
                                       const std::set<std::uint64_t>& given, Leaf&& leaf) {
  std::set<std::uint32_t> numbers;
  std::vector<std::uint64_t> waiting(custom.outputs.begin(), custom.outputs.end());
  while (!waiting.empty()) {
    const std::uint64_t id = waiting.back();
    waiting.pop_back();
    if (given.contains(id)) continue;
    const RecordView* maker = past.maker(id);
    if (!maker || maker->number <= custom.number) {
      leaf(id);
      continue;
    }
    if (!numbers.insert(maker->number).second) continue;
    check_cancelled(past.cancel());
    waiting.insert(waiting.end(), maker->inputs.begin(), maker->inputs.end());
  }
  return numbers;
}

}  // namespace

Tensors run_wide(const RecordView& record, std::span<const Tensor> inputs,
                 std::span<const DType> original_dtypes, bool* was_narrow) {
  const bool made_of_numbers = std::any_of(
      inputs.begin(), inputs.end(), [](const Tensor& input) { return input && is_floating(input.dtype()); });
  if (made_of_numbers && record.head.op->form != Form::drawn) try {
      return widened(replay_op(*record.head.op, inputs, to_float64(record.head.attributes)));
    } catch (const Error&) {  // no kernel for float64
      if (was_narrow) *was_narrow = true;
    }
  return run_as_recorded(record, inputs, original_dtypes);
}

InnerFunction::InnerFunction(Past& past, const RecordView& custom, const TensorIds& also)
    : custom_(custom), inputs_(custom.inputs) {
  inputs_.insert(inputs_.end(), also.begin(), also.end());
  const std::set<std::uint64_t> given(inputs_.begin(), inputs_.end());
  const std::set<std::uint32_t> numbers =
      records_inside(past, custom, given, [&](std::uint64_t id) { leaves_.insert(id); });
  std::set<std::uint64_t> moving = given;
  for (const std::uint32_t number : numbers) {
    const RecordView& record = *past.record(number);
    if (first_inside_ == 0 && !record.outputs.empty()) first_inside_ = record.outputs[0];
    if (std::none_of(record.inputs.begin(), record.inputs.end(),
                     [&](std::uint64_t id) { return moving.contains(id); }))
      continue;
    moving.insert(record.outputs.begin(), record.outputs.end());
    Step step{&record, {}};
    for (const std::uint64_t id : record.inputs) {
      step.dtypes.push_back(spec_of(past.recorder().trace().tensors().get(id).spec()).dtype);
      if (!moving.contains(id)) constants_.emplace(id, to_float64(past.value(id)));
    }
    steps_.push_back(std::move(step));
  }
  for (const std::uint64_t id : custom.outputs) {
    if (moving.contains(id))
      depends_ = true;
    else
      constants_.emplace(id, to_float64(past.value(id)));
  }
  look_for_departure(past, moving);
}

/// A value that Python read while the function ran, of which something newer came back as a leaf. Before the
/// first op inside it may have been read outside, by a print: that counts where nothing else explains the
/// result, or an array came back.
void InnerFunction::look_for_departure(Past& past, const std::set<std::uint64_t>& moving) {
  if (leaves_.empty() || custom_.outputs.empty()) return;
  const std::uint64_t end = *std::max_element(custom_.outputs.begin(), custom_.outputs.end());
  for (const ExternalRead& external_read : past.recorder().data_flow().external_reads()) {
    if (external_read.newest >= end || !moving.contains(external_read.tensor)) continue;
    const TensorOrigin origin = past.recorder().trace().tensors().get(external_read.tensor);
    if (origin.known() && spec_of(origin.spec()).dtype == DType::bool_)
      continue;  // a decision: no number came of it
    const auto came_back = [&](std::uint64_t leaf) {
      if (leaf <= external_read.newest || past.maker(leaf) || past.assignment(leaf)) return false;
      if (first_inside_ != 0 && external_read.newest >= first_inside_) return true;
      return !depends_ ||
             element_count(spec_of(past.recorder().trace().tensors().get(leaf).spec()).shape) > 1;
    };
    if (std::none_of(leaves_.begin(), leaves_.end(), came_back)) continue;
    const std::uint32_t line = location_of(external_read.location).line;
    left_ = "Python or NumPy read a value in it" + (line ? " (line " + std::to_string(line) + ")" : "") +
            ", and what came back is a constant to recorded ops";
    return;
  }
}

TensorIds variables_read_inside(Past& past, const RecordView& custom) {
  const std::set<std::uint64_t> given(custom.inputs.begin(), custom.inputs.end());
  std::set<std::uint64_t> leaves;
  const std::set<std::uint32_t> numbers =
      records_inside(past, custom, given, [&](std::uint64_t id) { leaves.insert(id); });
  TensorIds variables;
  for (const std::uint32_t number : numbers)
    for (const std::uint64_t id : past.record(number)->inputs)
      if (leaves.contains(id) && past.assignment(id) &&
          std::find(variables.begin(), variables.end(), id) == variables.end())
        variables.push_back(id);
  return variables;
}

Tensors InnerFunction::operator()(std::span<const Tensor> inputs) const {
  std::unordered_map<std::uint64_t, Tensor> values = constants_;
  for (std::size_t k = 0; k < inputs.size(); ++k) values.insert_or_assign(inputs_[k], inputs[k]);
  for (const Step& step : steps_) {
    Tensors read;
    for (const std::uint64_t id : step.record->inputs) read.push_back(values.at(id));
    const Tensors made = run_wide(*step.record, read, step.dtypes);
    for (std::size_t k = 0; k < made.size(); ++k) values.insert_or_assign(step.record->outputs[k], made[k]);
  }
  Tensors outputs;
  for (const std::uint64_t id : custom_.outputs) outputs.push_back(values.at(id));
  return outputs;
}

}  // namespace tapedeck::debug
