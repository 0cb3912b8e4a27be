#include "engine/debug/why/past.h"

#include <algorithm>

#include "engine/debug/describe.h"
#include "engine/ops/core/foreign.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {

void Past::step(std::uint64_t done, std::uint64_t total) {
  check_cancelled(cancel_);
  const auto now = std::chrono::steady_clock::now();
  if (!report_ || now < next_report_) return;
  next_report_ = now + report_interval;
  report_(protocol::Progress{done, total});
}

const RecordView* Past::record(std::uint64_t number) {
  if (number == 0 || number > recorder_.trace().newest()) return nullptr;
  const auto [found, fresh] = records_.try_emplace(static_cast<std::uint32_t>(number));
  if (fresh) {
    auto view = std::make_unique<RecordView>();
    if (recorder_.trace().read(static_cast<std::uint32_t>(number), *view)) found->second = std::move(view);
  }
  return found->second.get();
}

Tensors Past::inputs(const RecordView& record) {
  Tensors values;
  for (const std::uint64_t id : record.inputs) values.push_back(id ? value(id) : Tensor());
  return values;
}

const RecordView* Past::maker(std::uint64_t tensor) {
  const TensorOrigin origin = recorder_.trace().tensors().get(tensor);
  if (origin.producer() != 0 || !origin.known() || !has_foreign_ops()) return record(origin.producer());
  if (!held_results_) find_held_results();
  const auto found = held_results_->find(tensor);
  return found == held_results_->end() ? nullptr : record(found->second);
}

const RecordView* Past::giver(std::uint64_t tensor) {
  if (maker(tensor) || !held_results_) return nullptr;
  const auto found = held_gradients_.find(tensor);
  return found == held_gradients_.end() ? nullptr : record(found->second);
}

void Past::find_held_results() {
  constexpr std::uint32_t at_once = 4096;
  held_results_.emplace();
  const Trace& trace = recorder_.trace();
  const std::uint32_t newest = trace.newest();
  for (std::uint32_t first = std::max(1u, trace.oldest_kept()); first <= newest; first += at_once) {
    check_cancelled(cancel_);
    trace.glance(first, std::min(newest, first + at_once - 1), [&](const RecordGlance& glance) {
      const bool is_vjp = glance.head.kind == EventKind::vjp;
      if (!is_vjp && (glance.head.kind != EventKind::op || !glance.head.op || !is_foreign(*glance.head.op)))
        return;
      for (const std::uint64_t output : glance.outputs)
        if (output && trace.tensors().get(output).producer() == 0)
          (is_vjp ? held_gradients_ : *held_results_).emplace(output, glance.number);
    });
  }
}

std::size_t Past::output_of(const RecordView& maker, std::uint64_t tensor) {
  return static_cast<std::size_t>(std::find(maker.outputs.begin(), maker.outputs.end(), tensor) -
                                  maker.outputs.begin());
}

const RecordView* Past::around(const RecordView& record, EventKind kind) {
  for (const RecordView* at = &record; at; at = this->record(at->head.parent))
    if (at->head.kind == kind) return at;
  return nullptr;
}

protocol::TensorInfo Past::info(std::uint64_t tensor) const {
  return tensor_info(recorder_, tensor, true);
}

protocol::Reason Past::reason(const RecordView& record, const std::string& role, std::string sentence) const {
  const SourceLocation location = location_of(record.head.location);
  protocol::Reason reason;
  reason.record = record.number;
  reason.op = record.name();
  reason.cell = location.cell;
  reason.file = location.file;
  reason.line = location.line;
  reason.role = role;
  reason.sentence = std::move(sentence);
  return reason;
}

std::string Past::name(const RecordView& record) const {
  const std::uint32_t line = location_of(record.head.location).line;
  std::string text = record.head.kind == EventKind::vjp ? "the VJP of " + record.name() : record.name();
  text += " (op " + protocol::count_text(record.number);
  if (line) text += ", line " + std::to_string(line);
  return text + ")";
}

}  // namespace tapedeck::debug
