#include "engine/record/trace/tensor_text.h"

#include <algorithm>

#include "engine/record/trace/tensor_specs.h"

namespace tapedeck {
namespace {

std::string source_text(const Recorder& recorder, std::uint64_t id, const TensorOrigin& origin) {
  if (const std::uint32_t name = recorder.values().name(id)) return name_of(name);
  if (origin.is_leaf()) return "a constant";
  const std::string op = ", op " + std::to_string(origin.producer());
  RecordView record;
  if (!recorder.trace().read(origin.producer(), record)) return "the output of a forgotten op" + op;
  if (record.outputs.size() < 2) return "the output of " + record.name() + op;
  const auto place = std::find(record.outputs.begin(), record.outputs.end(), id) - record.outputs.begin();
  return "output " + std::to_string(place + 1) + " of " + record.name() + op;
}

}  // namespace

std::string tensor_text(const Recorder& recorder, std::uint64_t id) {
  const TensorOrigin origin = recorder.trace().tensors().get(id);
  if (!origin.known()) return "a tensor that no record mentions";
  const RecordedSpec spec = spec_of(origin.spec());
  return source_text(recorder, id, origin) + " (" + std::string(dtype_name(spec.dtype)) + " " +
         to_string(spec.shape) + ")";
}

}  // namespace tapedeck
