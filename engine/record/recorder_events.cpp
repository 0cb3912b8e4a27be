// Events of the recorder other than ops: values, variables and tapes, cells, curves.
#include <algorithm>

#include "engine/record/recorder.h"
#include "engine/record/recorder_thread.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck {

void Recorder::leaf(const Tensor& tensor, std::string_view name) {
  if (keep_values_ && tensor) add_leaf(tensor, name.empty() ? 0 : intern_name(name));
  note_news();
}

void Recorder::assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                        std::uint64_t since) {
  const std::uint32_t location = capture_location();
  data_flow_.add({tensor.id(), value.id(), variable, since, location, trace_.newest()});
  memory_.add({tensor.id(), variable, trace_.newest(), MemoryEventKind::assigned});
  if (health_sampler_.on()) health_sampler_.assigned(tensor, value, variable, trace_.newest());
  if (keep_values_) make_version(tensor, value, variable);
  note_news();
  if (!breakpoints_.any()) return;
  BreakEvent event;
  event.location = location;
  event.number = trace_.newest();
  event.written = values_.name(tensor.id());
  event.outputs = std::span(&tensor, 1);
  event.ended = true;
  const auto stop = event.written && event.number ? breakpoints_.assigned(event) : std::nullopt;
  if (stop) wait_after(this_thread(), event, *stop);
}

void Recorder::make_version(const Tensor& tensor, const Tensor& value, std::uint64_t variable) {
  const TensorTable& table = trace_.tensors();
  if (table.get(tensor.id()).is_small_leaf()) return;
  const TensorOrigin origin = table.get(value.id());
  const bool can_be_had_again =
      origin.producer() != 0 && origin.producer() >= trace_.oldest_kept() && !origin.lost();
  // If it was converted, it is a different value.
  if (!can_be_had_again || tensor.storage().get() != value.storage().get()) return;
  values_.make_version(tensor, value.id(), variable, now_ns(), gate_.armed());
}

void Recorder::assigned_by_debugger(const Tensor& now, std::string_view name, const Tensor& value,
                                    std::uint64_t variable) {
  leaf(now, name);
  data_flow_.add({now.id(), value.id(), variable, value.id(), 0, trace_.newest()});
  memory_.add({now.id(), variable, trace_.newest(), MemoryEventKind::assigned});
}

void Recorder::left(const Tensor& tensor) {
  ExternalRead external_read{tensor.id(), detail::newest_tensor_id(), capture_location()};
  if (tensor.on_cpu() && tensor.count() == 1 && !is_complex(tensor.dtype()) &&
      tensor.dtype() != DType::string)
    external_read.number = tensor.item();
  data_flow_.add(external_read);
}

bool Recorder::gives_up(std::span<const std::uint64_t> variables) {
  if (gate_.armed() || breakpoints_.any() || breakpoints_.watches_failures()) return false;
  if (keep_values_) values_.release_newest(variables);
  return this_thread().gave_up = true;
}

void Recorder::variable_gone(std::uint64_t variable) {
  values_.variable_gone(variable);
  data_flow_.variable_gone(variable);
  memory_.add({variable, 0, trace_.newest(), MemoryEventKind::variable_gone});
  note_news();
}

void Recorder::taped(std::uint64_t record, std::uint64_t tape) {
  memory_.add({record, tape, trace_.newest(), MemoryEventKind::taped});
}

void Recorder::tape_used_up(std::uint64_t tape) {
  memory_.add({tape, 0, trace_.newest(), MemoryEventKind::tape_used_up});
}

void Recorder::tape_emptied(std::uint64_t tape) {
  memory_.add({tape, 0, trace_.newest(), MemoryEventKind::tape_emptied});
}

void Recorder::begin_cell(const std::string& cell, std::uint32_t execution) {
  {
    const std::lock_guard lock(cell_mutex_);
    running_cell_ = cell;
  }
  cell_runs_.begin(cell, trace_.newest() + 1, now_ns(), execution, detail::newest_tensor_id(),
                   calls_recorded());
  series_.begin_run(cell, execution);
  pictures_.begin_run(cell, execution);
  breakpoints_.cell_started(cell);
  gate_.cell_started();
  note_news();
}

void Recorder::end_cell(bool failed) {
  {
    const std::lock_guard lock(cell_mutex_);
    running_cell_.clear();
  }
  cell_runs_.end(trace_.newest(), now_ns(), failed, calls_recorded());
  ++cells_ended_;
  memory_.add({0, 0, trace_.newest(), MemoryEventKind::cell_ended});
  if (health_sampler_.on()) health_sampler_.cell_ended();
  breakpoints_.cell_ended();
  gate_.cell_ended();
  note_news();
}

std::string Recorder::running_cell() const {
  const std::lock_guard lock(cell_mutex_);
  return running_cell_;
}

void Recorder::add_scalar(const std::string& name, double step, double value, std::string_view x) {
  series_.add(name, step, value, trace_.newest(), x);
  note_news();
}

bool Recorder::add_health(const std::string& name, double value) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size()) return false;
  HealthSubject subject;
  subject.kind = HealthKind::published;
  subject.name = name.substr(0, slash);
  subject.location = capture_location();
  // Even before the first op of a cell it belongs to that cell.
  std::uint32_t record = trace_.newest();
  for (const CellRun& run : cell_runs_.newest(1))
    if (run.state == CellRun::State::running) record = std::max(record, run.first);
  health_.put(health_.subject(subject), name.substr(slash + 1), {record, value});
  return true;
}

bool Recorder::add_picture(protocol::Picture picture) {
  picture.record = protocol::if_there(trace_.newest());
  const bool kept = pictures_.add(std::move(picture));
  note_news();
  return kept;
}

}  // namespace tapedeck
