#include "engine/debug/describe.h"

#include <algorithm>

#include "engine/graph/eager.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t page_size = 1000;
constexpr std::int64_t preview_count = 4;
constexpr std::uint32_t most_at_stop = 32;

std::vector<std::int64_t> extents(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

void describe_outputs(const Recorder& recorder, const RecordView& view, bool with_previews,
                      protocol::Record& record) {
  for (const std::uint64_t id : view.outputs)
    record.outputs.push_back(tensor_info(recorder, id, with_previews));
  if (!view.outputs.empty()) return;
  for (const TensorSpec& spec : view.pending_outputs) {
    protocol::TensorInfo info;
    info.dtype = dtype_name(spec.dtype);
    info.shape = extents(spec.shape);
    record.outputs.push_back(std::move(info));
  }
}

/// Of another framework's tensors that are held as leaves it is known which op made them, or wrote into their
/// memory last.
void describe_makers(const RecordView& view, protocol::Record& record) {
  if (view.head.kind != EventKind::op) return;
  for (const ForeignMemory& known : foreign_memory(*view.head.op, view.head.attributes))
    if (known.input < record.inputs.size() && record.inputs[known.input].producer == 0)
      record.inputs[known.input].producer = known.writer;
  for (protocol::TensorInfo& output : record.outputs)
    if (output.id != 0 && output.producer == 0 &&
        std::ranges::find(view.inputs, output.id) == view.inputs.end())
      output.producer = view.number;
}

protocol::Record forgotten(std::uint32_t number, std::uint32_t oldest) {
  protocol::Record record;
  record.number = number;
  record.state = protocol::RecordState::failed;
  record.op = "forgotten";
  record.error = "The recording keeps a bounded number of records; those before " + std::to_string(oldest) +
                 " were forgotten.";
  return record;
}

/// What ran since the step that led to a stop, and the pending record: what the views show then.
std::vector<protocol::Record> records_at_stop(const Recorder& recorder, const GateStatus& gate) {
  std::vector<protocol::Record> records;
  if (gate.stopped_before == 0) return records;
  const auto add = [&](std::uint32_t number) {
    if (auto record = describe(recorder, number, true)) records.push_back(std::move(*record));
  };
  const std::uint32_t last = gate.stopped_before;
  std::uint32_t first = gate.stepped_over && gate.stepped_over < last ? gate.stepped_over : last;
  if (last - first >= most_at_stop) {
    add(first);
    first = last - most_at_stop + 2;
  }
  for (std::uint32_t number = first; number <= last; ++number) add(number);
  return records;
}

}  // namespace

std::string preview(const Tensor& tensor) {
  std::string text = format_values(tensor);
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else if (c != ' ' || line.empty() || line.back() != ' ') {
      line += c;
    }
  }
  return line;
}

bool has_preview(const Recorder& recorder, std::uint64_t id) {
  const TensorOrigin origin = recorder.trace().tensors().get(id);
  return id != 0 && origin.known() && element_count(spec_of(origin.spec()).shape) <= preview_count;
}

protocol::TensorInfo tensor_info(const Recorder& recorder, std::uint64_t id, bool with_preview) {
  protocol::TensorInfo info;
  info.id = id;
  const TensorOrigin origin = recorder.trace().tensors().get(id);
  if (id == 0 || !origin.known()) return info;
  const RecordedSpec spec = spec_of(origin.spec());
  info.dtype = dtype_name(spec.dtype);
  info.shape = extents(spec.shape);
  info.device = to_string(spec.device);
  info.name = name_of(recorder.values().name(id));
  info.producer = origin.producer();
  if (with_preview && element_count(spec.shape) <= preview_count)
    if (const Tensor value = recorder.values().held(id)) info.preview = preview(value);
  return info;
}

bool sums_gradients(const Recorder& recorder, const RecordView& view) {
  const RecordHead& head = view.head;
  if (head.kind != EventKind::op || head.custom_gradient || !head.backward || !head.op ||
      head.op->form != Form::sum)
    return false;
  RecordView parent;
  return head.parent != 0 && recorder.trace().read(head.parent, parent) &&
         parent.head.kind == EventKind::playback;
}

std::optional<protocol::Record> describe(const Recorder& recorder, std::uint32_t number, bool with_previews) {
  RecordView view;
  if (!recorder.trace().read(number, view)) {
    const std::uint32_t oldest = recorder.trace().oldest_kept();
    return number < oldest ? std::optional(forgotten(number, oldest)) : std::nullopt;
  }
  const RecordHead& head = view.head;
  protocol::Record record;
  record.number = number;
  record.kind = record_kind(head.kind);
  record.state = view.state;
  record.op = view.name();
  record.custom_gradient = head.custom_gradient;
  record.parent = head.parent;
  record.depth = head.depth;
  record.backward = head.backward;
  record.forward = head.forward;
  record.sums_gradients = sums_gradients(recorder, view);
  record.tape = head.tape;
  record.scope = scope_text(head.scope);
  const SourceLocation location = location_of(head.location);
  record.cell = location.cell;
  if (!record.cell.empty()) record.execution = recorder.cell_runs().execution_of(record.cell, number);
  record.file = location.file;
  record.line = location.line;
  SourceCall call = call_of(head.call());
  record.call = std::move(call.text);
  record.call_is_line = call.whole_line;
  record.thread = head.thread;
  record.start_ns = view.start_ns;
  record.call_ns = view.call_ns;
  record.work = view.device.state;
  if (record.work != protocol::WorkTime::host)
    record.device = to_string(Device{DeviceKind::gpu, view.device.gpu});
  record.work_start_ns = view.work_start_ns;
  record.duration_ns = view.duration_ns;
  if (head.op) {
    record.vjp_formula = head.op->vjp_formula;
    // A VJP's are none of the op (foreign_saved.h).
    const bool own = head.kind != EventKind::vjp;
    const std::size_t count = own ? std::min(head.attributes.size(), head.op->attributes.size()) : 0;
    for (std::size_t i = 0; i < count; ++i)
      record.attributes.push_back({head.op->attributes[i].name, to_string(head.attributes[i])});
  }
  for (const std::uint64_t id : view.inputs)
    record.inputs.push_back(tensor_info(recorder, id, with_previews));
  describe_outputs(recorder, view, with_previews, record);
  if (head.op && is_foreign(*head.op)) describe_makers(view, record);
  record.error = view.error;
  return record;
}

protocol::Records describe_page(const Recorder& recorder, const protocol::GetRecords& request) {
  recorder.collect_device_times();
  protocol::Records page;
  page.total = recorder.trace().newest();
  const std::uint64_t first = std::clamp<std::uint64_t>(request.first, 1, page.total + 1);
  for (std::uint64_t i = 0; i < std::min(request.count, page_size) && first + i <= page.total; ++i) {
    auto record = describe(recorder, static_cast<std::uint32_t>(first + i), request.with_previews);
    if (!record) break;
    page.records.push_back(std::move(*record));
  }
  return page;
}

protocol::Status describe_status(const Recorder& recorder) {
  recorder.collect_device_times();
  protocol::Status status;
  status.device_times = recorder.trace().device_times_told();
  status.device_times_pending = recorder.trace().device_times_pending();
  const GateStatus gate = recorder.gate().status();
  status.gate = gate.state;
  status.stopped_before = protocol::if_there(gate.stopped_before);
  status.stopped_after = gate.stopped_after;
  if (gate.at_line()) status.stopped_at_line = gate.stop;
  if (const GradientStop& made = gate.gradient; made.source != 0)
    status.complete_gradient = {gate.stop,
                                tensor_info(recorder, made.source, true),
                                tensor_info(recorder, made.gradient, true),
                                made.rows,
                                made.place,
                                made.places};
  status.stop_breakpoints = gate.breakpoints;
  status.hits = recorder.breakpoints().hits();
  status.stepped_over = protocol::if_there(gate.stepped_over);
  if (!gate.stepped_call.empty()) status.stepped_call = gate.stepped_call;
  status.stop = records_at_stop(recorder, gate);
  status.stop_reason = protocol::if_there(gate.reason);
  // The gate has the line for steps; a VJP is shown beside its forward op (recorder_stops.cpp).
  RecordView stopped;
  const bool in_backward = gate.stopped_before != 0 && gate.gradient.source == 0 &&
                           recorder.trace().read(gate.stopped_before, stopped) && stopped.head.backward;
  const SourceLocation location = location_of(in_backward ? stopped.head.location : gate.location);
  status.cell = location.cell;
  status.line = location.line;
  status.records = recorder.trace().newest();
  status.finished = recorder.trace().newest_finished();
  status.ended = recorder.trace().ended();
  status.running_cell = protocol::if_there(recorder.running_cell());
  status.cells_ended = recorder.cells_ended();
  status.recording = recorder.recording();
  status.break_at_cell_start = recorder.gate().break_at_cell_start();
  const KeepingOptions keeping = recorder.values().options();
  status.keep_everything = keeping.keep_everything;
  status.replay_on_cpu = recorder.replays_on_cpu();
  status.functions_eagerly = graph::functions_run_eagerly();
  status.budget_bytes = keeping.budget_bytes;
  status.held_bytes = recorder.values().held_bytes();
  status.record_bytes = recorder.bookkeeping_bytes();
  status.leaves_dropped = recorder.values().leaves_dropped();
  status.values_lost = recorder.values_lost();
  status.series_points = recorder.series().size();
  status.series_thinned = recorder.series().thinned();
  status.pictures = recorder.pictures().size();
  status.full = recorder.trace().full();
  if (const TraceSource* file = recorder.file()) {
    status.trace_file = file->path();
    status.trace_title = file->title();
  }
  const PoolStatistics pool = pool_statistics();
  status.pool_bytes = pool.bytes_in_use;
  status.pooled_bytes = pool.bytes_cached;
  for (int gpu = 0; gpu < gpu_count(); ++gpu) {
    const Device device{DeviceKind::gpu, static_cast<std::uint8_t>(gpu)};
    const DeviceMemory& memory = device_memory(device);
    status.gpus.push_back({to_string(device), memory.statistics().bytes_in_use, memory.capacity()});
  }
  if (ForeignDevices* foreign = foreign_devices_or_null())
    for (const ForeignUse& use : foreign->use())
      status.gpus.push_back({to_string(use.device), use.used, use.total});
  return status;
}

protocol::Statistics describe_summary(std::uint64_t tensor, const Summary& summary,
                                      const std::string& source) {
  protocol::Statistics statistics;
  statistics.tensor = tensor;
  statistics.count = summary.count;
  statistics.finite = summary.finite;
  statistics.zeros = summary.zeros;
  statistics.subnormals = summary.subnormals;
  statistics.nan = summary.nan;
  statistics.positive_infinity = summary.positive_infinity;
  statistics.negative_infinity = summary.negative_infinity;
  if (summary.finite > 0) {
    statistics.minimum = summary.minimum;
    statistics.maximum = summary.maximum;
    statistics.mean = summary.mean;
    statistics.deviation = summary.deviation;
  }
  statistics.histogram = summary.histogram;
  statistics.source = source;
  return statistics;
}

}  // namespace tapedeck::debug
