#include "engine/debug/why/wide_run.h"

#include <algorithm>
#include <set>

#include "engine/debug/why/vjp_again.h"
#include "engine/ops/core/run_op.h"
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
    narrow.push_back(inputs[k].dtype() == dtypes[k] ? inputs[k] : in_dtype(inputs[k], dtypes[k]));
  return widened(replay_op(*record.head.op, narrow, record.head.attributes));
}

}  // namespace

Tensors run_wide(const RecordView& record, std::span<const Tensor> inputs,
                 std::span<const DType> original_dtypes) {
  const bool made_of_numbers = std::any_of(inputs.begin(), inputs.end(),
                                           [](const Tensor& input) { return is_floating(input.dtype()); });
  if (made_of_numbers && record.head.op->form != Form::drawn) try {
      return widened(replay_op(*record.head.op, inputs, to_float64(record.head.attributes)));
    } catch (const Error&) {  // no kernel for float64
    }
  return run_as_recorded(record, inputs, original_dtypes);
}

InnerFunction::InnerFunction(Past& past, const RecordView& custom) : custom_(custom) {
  const std::set<std::uint64_t> given(custom.inputs.begin(), custom.inputs.end());
  std::set<std::uint32_t> numbers;
  std::vector<std::uint64_t> waiting(custom.outputs.begin(), custom.outputs.end());
  while (!waiting.empty()) {
    const std::uint64_t id = waiting.back();
    waiting.pop_back();
    const RecordView* maker = given.contains(id) ? nullptr : past.maker(id);
    if (!maker || maker->number <= custom.number || !numbers.insert(maker->number).second) continue;
    past.step(numbers.size());
    waiting.insert(waiting.end(), maker->inputs.begin(), maker->inputs.end());
  }
  std::set<std::uint64_t> moving = given;
  for (const std::uint32_t number : numbers) {
    const RecordView& record = *past.record(number);
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
  for (const std::uint64_t id : custom.outputs)
    if (!moving.contains(id)) constants_.emplace(id, to_float64(past.value(id)));
}

Tensors InnerFunction::operator()(std::span<const Tensor> inputs) const {
  std::unordered_map<std::uint64_t, Tensor> values = constants_;
  for (std::size_t k = 0; k < inputs.size(); ++k) values.insert_or_assign(custom_.inputs[k], inputs[k]);
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
