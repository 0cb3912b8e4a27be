#include "engine/debug/why/view_write.h"

#include <algorithm>

#include "engine/debug/why/vjp_again.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/values/memory_parts.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t records_looked_at = 4096;

/// Where the whole and the view lie in their memory, from a tensor that was read there later.
struct ViewPlaces {
  MemoryPart whole, view;
};

std::optional<ViewPlaces> places_in(const SharedPlace& shared, std::uint64_t reader, std::uint64_t view,
                                    const Shape& whole) {
  const auto written = std::ranges::find(shared.parts, view, &MemoryPart::tensor);
  if (written == shared.parts.end()) return std::nullopt;
  if (shared.place.shape == whole) return ViewPlaces{{reader, shared.place}, *written};
  const auto found =
      std::ranges::find_if(shared.parts, [&](const MemoryPart& part) { return part.place.shape == whole; });
  return found == shared.parts.end() ? std::nullopt : std::optional(ViewPlaces{*found, *written});
}

}  // namespace

bool is_write_into_view(const RecordView& vjp, const RecordView& forward) {
  return vjp.head.op && forward.head.op && is_foreign(*vjp.head.op) && vjp.head.op != forward.head.op;
}

std::optional<ViewWrite> ViewWrite::find(Past& past, const RecordView& vjp, const RecordView& forward) {
  if (past.recorder().file() || vjp.inputs.empty() || vjp.inputs[0] == 0 || forward.outputs.size() != 1 ||
      forward.inputs.empty() || forward.inputs[0] == 0)
    return std::nullopt;
  const Trace& trace = past.recorder().trace();
  const Shape shape = spec_of(trace.tensors().get(vjp.inputs[0]).spec()).shape;
  std::optional<ViewPlaces> places;
  for (std::uint32_t first = forward.number + 1; first < vjp.number && !places; first += records_looked_at) {
    check_cancelled(past.cancel());
    trace.glance(first, std::min(vjp.number - 1, first + records_looked_at - 1),
                 [&](const RecordGlance& glance) {
                   for (const std::uint64_t id : glance.inputs)
                     if (const auto shared = places || id == 0 ? nullptr : shared_place_of(id))
                       places = places_in(*shared, id, forward.outputs[0], shape);
                 });
  }
  if (!places) return std::nullopt;
  auto elements = places_of_part(places->whole.place, places->view.place);
  if (!elements || std::ranges::count(*elements, -1) > 0) return std::nullopt;
  const Tensor before = to_float64(past.value(forward.inputs[0]));
  if (static_cast<std::size_t>(before.count()) != elements->size()) return std::nullopt;
  std::vector<double> values = past.value(places->whole.tensor).to_vector();
  const std::vector<double> in_view = before.to_vector();
  for (std::size_t i = 0; i < elements->size(); ++i)
    values[static_cast<std::size_t>((*elements)[i])] = in_view[i];
  return ViewWrite(forward, Tensor::from_values<double>(values, shape), before.shape(), std::move(*elements));
}

Tensor ViewWrite::written(std::span<const Tensor> inputs) const {
  const std::vector<double> values = inputs[0].to_vector();
  std::vector<double> in_view;
  in_view.reserve(places_.size());
  for (const std::int64_t place : places_) in_view.push_back(values[static_cast<std::size_t>(place)]);
  Tensors operands(inputs.begin(), inputs.end());
  operands[0] = Tensor::from_values<double>(in_view, view_);
  return replay_op(*forward_->head.op, operands, to_float64(forward_->head.attributes)).at(0);
}

Tensors ViewWrite::operator()(std::span<const Tensor> inputs) const {
  std::vector<double> values = inputs[0].to_vector();
  const std::vector<double> in_view = written(inputs).to_vector();
  for (std::size_t i = 0; i < places_.size() && i < in_view.size(); ++i)
    values[static_cast<std::size_t>(places_[i])] = in_view[i];
  return {Tensor::from_values<double>(values, inputs[0].shape())};
}

}  // namespace tapedeck::debug
