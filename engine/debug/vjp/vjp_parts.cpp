#include "engine/debug/vjp/vjp_parts.h"

#include <algorithm>
#include <unordered_map>

#include "engine/debug/describe.h"
#include "engine/debug/tile.h"
#include "engine/debug/vjp/bound_formula.h"
#include "engine/debug/vjp/element_terms.h"
#include "engine/debug/vjp/foreign_saved.h"
#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t stride = 4096;
constexpr std::uint64_t most_inside = 200;
constexpr std::size_t most_foreseen = 8;
constexpr std::size_t most_shares = 100;
/// A VJP whose op took longer is not run ahead of its time.
constexpr std::int64_t longest_foreseen_ns = 2'000'000'000;

std::int64_t count_of(const Recorder& recorder, const TensorIds& ids) {
  if (ids.empty()) return 0;
  const TensorOrigin origin = recorder.trace().tensors().get(ids[0]);
  return origin.known() ? element_count(spec_of(origin.spec()).shape) : 0;
}

protocol::GradientPart part_of(const Recorder& recorder, const GradientShare& share) {
  protocol::GradientPart part;
  part.vjp = share.vjp;
  part.input = share.input;
  part.value = tensor_info(recorder, share.value, true);
  RecordView vjp, forward;
  if (share.vjp == 0 || !recorder.trace().read(share.vjp, vjp)) return part;
  part.op = vjp.name();
  if (!recorder.trace().read(vjp.head.forward, forward)) return part;
  if (recorder.file() && !fits(vjp, forward)) return part;
  const std::size_t count = std::max(forward.inputs.size(), vjp.outputs.size());
  part.symbol =
      protocol::if_there(bind_call(forward.head.op, count, vjp.inputs.size()).inputs.at(share.input));
  return part;
}

}  // namespace

/// The last VJP that the playback ran before the record.
std::uint32_t VjpReader::vjp_before(std::uint32_t playback, std::uint32_t record,
                                    const CancelFlag* cancel) const {
  std::uint32_t found = 0;
  for (std::uint32_t first = playback + 1; first < record; first += stride) {
    check_cancelled(cancel);
    recorder_.trace().glance(first, std::min(record - 1, first + stride - 1),
                             [&](const RecordGlance& glance) {
                               if (glance.head.parent == playback && glance.head.kind == EventKind::vjp)
                                 found = glance.number;
                             });
  }
  return found;
}

/// Of the outermost call of a graph function around the record; nothing: it is in none.
std::optional<std::uint16_t> VjpReader::depth_of_call(const RecordView& record) const {
  std::optional<std::uint16_t> depth;
  RecordView around;
  for (std::uint32_t parent = record.head.parent; parent != 0 && recorder_.trace().read(parent, around);
       parent = around.head.parent)
    if (around.head.kind == EventKind::call) depth = around.head.depth;
  return depth;
}

/// The first one that was played; 0: none.
std::uint32_t VjpReader::vjp_of(const RecordView& forward, const CancelFlag* cancel) const {
  if (forward.head.kind == EventKind::playback) return 0;
  // A gradient that a function's trace made runs in the same call, and no tape records for it.
  std::optional<std::uint16_t> call_depth;
  if (forward.head.tape == 0 && !(call_depth = depth_of_call(forward))) return 0;
  std::uint32_t found = 0;
  bool beyond = false;
  const std::uint32_t newest = recorder_.trace().newest();
  for (std::uint32_t first = forward.number + 1; first <= newest && found == 0 && !beyond; first += stride) {
    check_cancelled(cancel);
    recorder_.trace().glance(first, std::min(newest, first + stride - 1), [&](const RecordGlance& glance) {
      const bool here = glance.head.thread == forward.head.thread;
      beyond = beyond || (call_depth && here && glance.head.depth <= *call_depth);
      if (beyond) return;
      if (found == 0 && glance.head.kind == EventKind::vjp && glance.head.forward == forward.number)
        found = glance.number;
    });
  }
  return found;
}

VjpReader::Place VjpReader::locate(std::uint64_t record, const CancelFlag* cancel) const {
  Place place;
  const Trace& trace = recorder_.trace();
  if (record == 0 || record > trace.newest()) return place;
  RecordView at, inner;
  const auto take = [&](std::uint32_t number) {
    if (number == 0 || !trace.read(number, place.vjp)) place.vjp = {};
    if (place.vjp.number && !trace.read(place.vjp.head.forward, place.forward)) place.forward = {};
    if (place.forward.number && recorder_.file() && !fits(place.vjp, place.forward)) place = {};
  };
  for (auto number = static_cast<std::uint32_t>(record); number != 0; number = at.head.parent) {
    if (!trace.read(number, at)) return place;
    if (at.head.kind == EventKind::vjp) {
      take(number);
      return place;
    }
    if (at.head.kind == EventKind::playback) {
      if (number != record) take(vjp_before(number, static_cast<std::uint32_t>(record), cancel));
      return place;
    }
    if (number == record) inner = at;
  }
  // An op of the forward pass.
  if (inner.head.kind == EventKind::op && !inner.head.op->vjp && !is_foreign(*inner.head.op)) return place;
  place.forward = inner;
  if (const std::uint32_t number = vjp_of(inner, cancel)) trace.read(number, place.vjp);
  if (place.vjp.number && recorder_.file() && !fits(place.vjp, inner)) place.vjp = {};
  return place;
}

void VjpReader::add_symbols(const Place& place, const OpDef* row, protocol::VjpParts& parts) const {
  using protocol::VjpRole;
  const RecordView& forward = place.forward;
  const std::size_t outputs = std::max(forward.outputs.size(), place.vjp.inputs.size());
  const BoundFormula bound =
      bind_call(row, std::max(forward.inputs.size(), place.vjp.outputs.size()), outputs);
  parts.names = bound.names;
  const auto add = [&](VjpRole role, const std::string& symbol, std::size_t index, std::uint64_t id,
                       std::optional<std::string> text = {}) {
    parts.symbols.push_back({role, protocol::if_there(symbol), static_cast<std::uint32_t>(index),
                             protocol::if_there(tensor_info(recorder_, id, true)), std::move(text)});
  };
  for (std::size_t i = 0; i < place.vjp.inputs.size(); ++i)
    add(VjpRole::cotangent, bound.outputs[i], i, place.vjp.inputs[i]);
  for (std::size_t i = 0; i < forward.inputs.size(); ++i)
    add(VjpRole::input, bound.inputs[i], i, forward.inputs[i]);
  for (std::size_t i = 0; i < forward.outputs.size(); ++i)
    if (bound.reads_output[i] || !forward.head.op)
      add(VjpRole::output, bound.outputs[i], i, forward.outputs[i]);
  for (const std::size_t i : bound.attributes)
    if (i < forward.head.attributes.size())
      add(VjpRole::attribute, row->attributes[i].name, i, 0, to_string(forward.head.attributes[i]));
  const std::int64_t results = count_of(recorder_, forward.outputs);
  if (bound.counts && results > 0)
    add(VjpRole::count, "n", 0, 0, std::to_string(count_of(recorder_, forward.inputs) / results));
}

std::uint64_t VjpReader::keep(const Tensor& tensor) {
  TensorTable& table = recorder_.trace().tensors();
  if (!table.get(tensor.id()).known()) {
    table.set(tensor.id(), TensorOrigin::leaf(spec_number(tensor)));
    recorder_.values().add_recomputed(tensor.id(), tensor);
  }
  return tensor.id();
}

std::optional<VjpReader::Foreseen> VjpReader::foreseen_before(std::uint32_t record) {
  const std::lock_guard lock(mutex_);
  for (const Foreseen& known : foreseen_)
    if (known.record == record) return known;
  return std::nullopt;
}

VjpReader::Foreseen VjpReader::foresee(const Place& place, const VjpCall& call,
                                       const std::vector<Accumulation>& sums, const FindTensor& find) {
  if (auto known = foreseen_before(place.vjp.number)) return *std::move(known);
  const QuietScope quiet;
  const Tensors gradients = call.run();
  Foreseen fresh{place.vjp.number, {}, {}, {}};
  std::unordered_map<std::uint64_t, Tensor> added;  // a tensor that is an input twice is added to twice
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i] || !call.wanted[i]) {
      for (auto* list : {&fresh.contributions, &fresh.before, &fresh.after}) list->push_back(0);
      continue;
    }
    const std::uint64_t target = i < place.forward.inputs.size() ? place.forward.inputs[i] : 0;
    const auto known = added.find(target);
    const std::uint64_t summed = i < sums.size() ? sums[i].before : 0;
    const Tensor before = known != added.end() ? known->second : summed ? find(summed) : Tensor();
    const Tensor after = before ? detail::add(before, gradients[i]) : gradients[i];
    fresh.contributions.push_back(keep(gradients[i]));
    fresh.before.push_back(!before ? 0 : known != added.end() ? keep(before) : summed);
    fresh.after.push_back(keep(after));
    if (target) added.insert_or_assign(target, after);
  }
  const std::lock_guard lock(mutex_);
  foreseen_.push_back(fresh);
  if (foreseen_.size() > most_foreseen) foreseen_.pop_front();
  return fresh;
}

void VjpReader::add_contributions(const Place& place, const ForeignFormula* foreign, const FindTensor& find,
                                  const CancelFlag* cancel, protocol::VjpParts& parts) {
  const RecordView &vjp = place.vjp, &forward = place.forward;
  const std::vector<Accumulation> sums = accumulations(recorder_, vjp, cancel);
  const auto wanted = wanted_gradients(recorder_, vjp, forward);
  const std::size_t count = std::max(forward.inputs.size(), vjp.outputs.size());
  const std::vector<std::string> symbols =
      bind_call(foreign ? foreign->call.op : forward.head.op, count, vjp.inputs.size()).inputs;
  Foreseen foreseen;
  const bool pending = vjp.state == RecordState::pending;
  if (pending && !forward.head.op) {
    parts.problem = "The user's own gradient has not run: its contributions are not known yet.";
  } else if (pending && foreign && !foreign->problem.empty()) {
    parts.problem = "PyTorch has not run this VJP: its contributions are not known yet. " + foreign->problem;
  } else if (pending && forward.duration_ns > longest_foreseen_ns) {
    parts.problem = "The op took long, so its VJP is not run ahead of time: one more step shows it.";
  } else if (pending) {
    try {
      if (foreign) parts.problem = protocol::if_there(foreign->remark);
      foreseen =
          foresee(place, foreign ? foreign->call : vjp_call(recorder_, vjp, forward, find), sums, find);
    } catch (const ValueError& error) {
      parts.problem = error.what();
    }
  }
  const auto info = [&](std::uint64_t id) {
    return id ? tensor_info(recorder_, id, true) : protocol::TensorInfo{};
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t made = i < vjp.outputs.size() ? vjp.outputs[i] : 0;
    const bool asked = i < wanted.size() && wanted[i];
    if (!made && !(asked && vjp.state != RecordState::done)) continue;
    protocol::VjpContribution contribution;
    contribution.input = static_cast<std::uint32_t>(i);
    if (i < forward.inputs.size()) contribution.target = info(forward.inputs[i]);
    contribution.symbol = protocol::if_there(symbols[i]);
    contribution.foreseen = pending;
    const std::uint64_t before = !made && i < foreseen.before.size() ? foreseen.before[i]
                                 : i < sums.size()                   ? sums[i].before
                                                                     : 0;
    contribution.before = protocol::if_there(info(before));
    const std::uint64_t given = made                                ? made
                                : i < foreseen.contributions.size() ? foreseen.contributions[i]
                                                                    : 0;
    contribution.contribution = protocol::if_there(info(given));
    const std::uint64_t after = made                        ? (i < sums.size() ? sums[i].after : made)
                                : i < foreseen.after.size() ? foreseen.after[i]
                                                            : 0;
    contribution.after = protocol::if_there(info(after));
    parts.contributions.push_back(std::move(contribution));
  }
}

/// Where the record is a sum that a playback made.
void VjpReader::add_sum(std::uint32_t record, const Place& place, const CancelFlag* cancel,
                        protocol::VjpParts& parts) const {
  RecordView sum;
  if (!recorder_.trace().read(record, sum) || !sums_gradients(recorder_, sum) || sum.inputs.size() != 2)
    return;
  protocol::GradientSum told;
  told.record = record;
  told.before = tensor_info(recorder_, sum.inputs[0], true);
  told.contribution = tensor_info(recorder_, sum.inputs[1], true);
  if (!sum.outputs.empty()) told.after = protocol::if_there(tensor_info(recorder_, sum.outputs[0], true));
  if (place.vjp.number != 0) {
    const SummedGradient gradient = summed_gradient(recorder_, place.vjp, record, cancel);
    told.target = protocol::if_there(tensor_info(recorder_, gradient.target, true));
    told.parts_total = gradient.shares.size();
    const std::size_t left_out = gradient.shares.size() - std::min(gradient.shares.size(), most_shares);
    for (std::size_t i = left_out; i < gradient.shares.size(); ++i)
      told.parts.push_back(part_of(recorder_, gradient.shares[i]));
  }
  parts.sum = std::move(told);
}

/// Which sums are results of the playback, once it has ended: nothing more was added to them.
void VjpReader::add_results(std::uint32_t playback, protocol::VjpParts& parts) const {
  RecordView ended;
  if (!recorder_.trace().read(playback, ended) || ended.state != RecordState::done) return;
  const std::vector<std::uint64_t> sources = recorder_.data_flow().sources_of(playback);
  if (sources.size() != ended.outputs.size()) return;
  parts.results = static_cast<std::uint32_t>(sources.size());
  const auto place = [&](const protocol::TensorInfo& target, const std::optional<protocol::TensorInfo>& sum) {
    std::optional<std::uint32_t> found;
    for (std::size_t i = 0; sum && i < sources.size() && !found; ++i)
      if (target.id != 0 && sources[i] == target.id && ended.outputs[i] == sum->id)
        found = static_cast<std::uint32_t>(i);
    return found;
  };
  for (protocol::VjpContribution& contribution : parts.contributions)
    contribution.result = place(contribution.target, contribution.after);
  if (parts.sum && parts.sum->target) parts.sum->result = place(*parts.sum->target, parts.sum->after);
}

void VjpReader::add_inside(const RecordView& vjp, const CancelFlag* cancel, protocol::VjpParts& parts) const {
  std::vector<std::uint32_t> numbers;
  const std::uint32_t newest = recorder_.trace().newest();
  bool beyond = false;
  for (std::uint32_t first = vjp.number + 1; first <= newest && !beyond; first += stride) {
    check_cancelled(cancel);
    recorder_.trace().glance(first, std::min(newest, first + stride - 1), [&](const RecordGlance& glance) {
      if (glance.head.thread != vjp.head.thread) return;
      beyond = beyond || glance.head.depth <= vjp.head.depth;
      if (beyond || glance.head.parent != vjp.number) return;
      ++parts.inside_total;
      if (numbers.size() < most_inside) numbers.push_back(glance.number);
    });
  }
  for (const std::uint32_t number : numbers)
    if (auto record = describe(recorder_, number, true)) parts.inside.push_back(std::move(*record));
}

protocol::VjpParts VjpReader::parts(const protocol::GetVjp& request, const FindTensor& find,
                                    const CancelFlag* cancel) {
  protocol::VjpParts parts;
  parts.asked = request.record;
  const Place place = locate(request.record, cancel);
  add_sum(static_cast<std::uint32_t>(request.record), place, cancel, parts);
  if (place.forward.number == 0) return parts;
  parts.forward = describe(recorder_, place.forward.number, true);
  std::optional<ForeignFormula> foreign;
  if (place.forward.head.op && is_foreign(*place.forward.head.op)) {
    foreign = foreign_formula(recorder_, place.vjp, place.forward, find);
    parts.forward->vjp_formula = foreign->call.op->vjp_formula;
    parts.problem = protocol::if_there(foreign->problem);
  }
  add_symbols(place, foreign ? foreign->call.op : place.forward.head.op, parts);
  if (place.vjp.number == 0) return parts;
  parts.vjp = describe(recorder_, place.vjp.number, true);
  if (foreign) parts.vjp->vjp_formula = parts.forward->vjp_formula;
  if (!place.forward.head.op || foreign) add_saved(recorder_, place.vjp, place.forward, parts);
  add_contributions(place, foreign ? &*foreign : nullptr, find, cancel, parts);
  add_results(place.vjp.head.parent, parts);
  if (place.vjp.head.custom_gradient) add_inside(place.vjp, cancel, parts);
  return parts;
}

protocol::ElementTerms VjpReader::explain(const protocol::ExplainElement& request, const FindTensor& find,
                                          const CancelFlag* cancel) {
  RecordView vjp, forward;
  if (request.record > recorder_.trace().newest() ||
      !recorder_.trace().read(static_cast<std::uint32_t>(request.record), vjp) ||
      vjp.head.kind != EventKind::vjp || !recorder_.trace().read(vjp.head.forward, forward) ||
      (recorder_.file() && !fits(vjp, forward)))
    throw BadRequest("explain_element: record " + std::to_string(request.record) +
                     " is not a VJP that is still there.");
  if (forward.head.op && is_foreign(*forward.head.op)) {
    const ForeignFormula foreign = foreign_formula(recorder_, vjp, forward, find);
    if (!foreign.problem.empty())
      throw ValueError("no_formula", foreign.problem + " Its elements are taken apart where there is one.");
    check_cancelled(cancel);
    return element_terms(foreign.call, request, cancel);
  }
  const bool custom = !forward.head.op;
  if (custom && vjp.state != RecordState::done)
    throw BadRequest("explain_element: the gradient of " + forward.name() +
                     " is the user's own code and has not come to its end.");
  const VjpCall call = custom ? custom_vjp_call(recorder_, vjp, forward, find, cancel)
                              : vjp_call(recorder_, vjp, forward, find, true);
  check_cancelled(cancel);
  return element_terms(call, request, cancel);
}

}  // namespace tapedeck::debug
