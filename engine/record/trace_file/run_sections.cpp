#include "engine/record/trace_file/run_sections.h"

#include <algorithm>

#include "engine/record/trace/clock.h"

namespace tapedeck::trace_file {
namespace {

/// Nanoseconds; sums of times up to this cannot overflow.
std::int64_t read_time(PageReader& page) {
  constexpr std::int64_t latest = std::int64_t{1} << 60;
  const std::int64_t time = page.signed_number();
  if (time < -latest || time > latest) throw DamagedPage("an invalid time");
  return time;
}

}  // namespace

// ---- runs of cells; one that is still running ends where the file does

void save_cell_runs(const Recorder& recorder, SectionOut& out) {
  std::vector<CellRun> runs = recorder.cell_runs().newest(SIZE_MAX);
  std::erase_if(runs, [&](const CellRun& run) { return run.first > out.newest_record + 1; });
  put_items(out, runs, [&](PageWriter& page, const CellRun& run) {
    const bool ended = run.state != CellRun::State::running && run.last <= out.newest_record;
    page.text(run.cell);
    page.number(run.first);
    page.number(ended ? run.last : out.newest_record);
    page.signed_number(run.start);
    page.signed_number(ended ? run.end : recorder.now_ns());
    page.byte(static_cast<std::uint8_t>(ended ? run.state : CellRun::State::done));
    page.number(run.execution);
  });
}

void load_cell_runs(Recorder& recorder, PageReader& page, const SectionIn& in) {
  while (page.left() > 0) {
    CellRun run;
    run.cell = page.text("a cell's id");
    run.first = static_cast<std::uint32_t>(
        page.number_up_to(std::uint64_t{in.newest_record} + 1, "a run's first record"));
    run.last = record_up_to(page, in);
    run.start = read_time(page);
    run.end = read_time(page);
    const std::uint8_t state = page.byte();
    if (run.first == 0 || run.last + 1 < run.first || run.end < run.start ||
        (state != static_cast<std::uint8_t>(CellRun::State::done) &&
         state != static_cast<std::uint8_t>(CellRun::State::failed)))
      throw DamagedPage("an invalid run of a cell");
    run.state = static_cast<CellRun::State>(state);
    if (in.version >= 2)
      run.execution = static_cast<std::uint32_t>(page.number_up_to(UINT32_MAX, "an execution's number"));
    recorder.cell_runs().add(std::move(run));
  }
}

void save_gate_waits(const Recorder& recorder, SectionOut& out) {
  std::vector<GateWait> waits = recorder.gate_waits().since(0);
  std::erase_if(waits, [&](const GateWait& wait) { return wait.record > out.newest_record; });
  put_items(out, waits, [](PageWriter& page, const GateWait& wait) {
    page.number(wait.thread);
    page.number(wait.record);
    page.signed_number(clock::nanoseconds(wait.from));
    page.signed_number(clock::nanoseconds(wait.to));
  });
}

void load_gate_waits(Recorder& recorder, PageReader& page, const SectionIn& in) {
  while (page.left() > 0) {
    GateWait wait;
    wait.thread = static_cast<std::uint16_t>(page.number_up_to(UINT16_MAX, "a thread"));
    wait.record = record_up_to(page, in);
    wait.from = clock::ticks_of(read_time(page));
    wait.to = clock::ticks_of(read_time(page));
    if (wait.to < wait.from) throw DamagedPage("a wait ends before it begins");
    recorder.gate_waits().add(wait);
  }
}

// ---- lifetimes of memory: events, sizes, what the recorder held. The first byte of an item says which it
// is.

namespace {
enum class MemoryItem : std::uint8_t { event, size, sample };
constexpr auto last_kind = MemoryEventKind::cell_ended;
}  // namespace

void save_memory_log(const Recorder& recorder, SectionOut& out) {
  const MemoryLog& log = recorder.memory();
  for (std::uint64_t position = 0, before = UINT64_MAX; position != before;) {
    before = position;
    std::vector<MemoryEvent> events = log.read(position);
    const std::size_t found = events.size();
    std::erase_if(events, [&](const MemoryEvent& event) { return event.after > out.newest_record; });
    if (found > 0 && events.empty()) break;  // a running program adds ever more
    put_items(out, events, [](PageWriter& page, const MemoryEvent& event) {
      page.byte(static_cast<std::uint8_t>(MemoryItem::event));
      page.byte(static_cast<std::uint8_t>(event.kind));
      page.number(event.subject);
      page.number(event.object);
      page.number(event.after);
    });
  }
  put_items(out, log.sizes(), [](PageWriter& page, const auto& entry) {
    page.byte(static_cast<std::uint8_t>(MemoryItem::size));
    page.number(entry.first);
    page.number(entry.second.bytes);
    page.byte(entry.second.borrowed ? 1 : 0);
  });
  std::vector<RecorderSample> samples = log.samples();
  std::erase_if(samples, [&](const RecorderSample& sample) { return sample.record >= out.newest_record; });
  if (out.newest_record > 0) samples.push_back({out.newest_record, recorder.bytes()});
  put_items(out, samples, [](PageWriter& page, const RecorderSample& sample) {
    page.byte(static_cast<std::uint8_t>(MemoryItem::sample));
    page.number(sample.record);
    page.number(sample.bytes);
  });
}

void load_memory_log(Recorder& recorder, PageReader& page, const SectionIn& in) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 48;
  while (page.left() > 0) {
    const std::uint8_t item = page.byte();
    if (item == static_cast<std::uint8_t>(MemoryItem::event)) {
      MemoryEvent event;
      const std::uint8_t kind = page.byte();
      if (kind > static_cast<std::uint8_t>(last_kind)) throw DamagedPage("an unknown event of memory");
      event.kind = static_cast<MemoryEventKind>(kind);
      event.subject = page.number();
      event.object = page.number();
      event.after = record_up_to(page, in);
      recorder.memory().add(event);
    } else if (item == static_cast<std::uint8_t>(MemoryItem::size)) {
      const std::uint64_t root = page.number();
      const std::uint64_t bytes = page.number_up_to(most_bytes, "a storage's size");
      recorder.memory().set_size(root, bytes, page.byte() != 0);
    } else if (item == static_cast<std::uint8_t>(MemoryItem::sample)) {
      const std::uint32_t record = record_up_to(page, in);
      recorder.memory().add_sample({record, page.number_up_to(most_bytes, "a sum of memory")});
    } else {
      throw DamagedPage("an unknown kind of memory data");
    }
  }
}

// ---- health: the sampled steps, then each subject with a part of one of its curves

namespace {

enum class HealthPage : std::uint8_t { marks, curve };
constexpr std::size_t samples_at_once = 32768;

void write_subject(PageWriter& page, const HealthSubject& subject, FileNumbers& numbers) {
  page.byte(static_cast<std::uint8_t>(subject.kind));
  page.number(subject.variable);
  page.text(subject.op);
  page.text(subject.name);
  page.number(numbers.scopes.of(subject.scope));
  page.number(numbers.locations.of(subject.location));
  page.number(static_cast<std::uint64_t>(subject.shape.rank()));
  for (int axis = 0; axis < subject.shape.rank(); ++axis)
    page.number(static_cast<std::uint64_t>(subject.shape[axis]));
  page.number(subject.order);
}

HealthSubject read_subject(PageReader& page, const SectionIn& in) {
  HealthSubject subject;
  const std::uint8_t kind = page.byte();
  if (kind >= names(HealthKind{}).size()) throw DamagedPage("an invalid subject of health");
  subject.kind = static_cast<HealthKind>(kind);
  subject.variable = page.number();
  subject.op = page.text("an op's name");
  subject.name = page.text("a subject's name");
  subject.scope = in_process(in.numbers.scopes, page.number(), "scope");
  subject.location = in_process(in.numbers.locations, page.number(), "source line");
  std::vector<std::int64_t> extents(page.number_up_to(max_rank, "a rank"));
  for (std::int64_t& extent : extents)
    extent = static_cast<std::int64_t>(page.number_up_to(std::uint64_t{1} << 40, "an extent"));
  subject.shape = Shape(std::span<const std::int64_t>(extents));
  subject.order = page.number();
  return subject;
}

}  // namespace

void save_health(const Recorder& recorder, SectionOut& out) {
  const HealthData data = recorder.health().data();
  PageWriter marks;
  marks.byte(static_cast<std::uint8_t>(HealthPage::marks));
  for (const HealthMark& mark : data.marks)
    if (mark.record <= out.newest_record) {
      marks.number(mark.record);
      marks.byte(mark.recomputed ? 1 : 0);
    }
  out.put(marks);
  struct Part {
    const HealthSubject* subject;
    const HealthCurveData* curve;
    std::size_t first;
  };
  std::vector<Part> parts;
  for (const HealthSubjectData& one : data.subjects)
    for (const HealthCurveData& curve : one.curves)
      for (std::size_t at = 0; at < curve.samples.size(); at += samples_at_once)
        parts.push_back({&one.subject, &curve, at});
  for (const Part& part : parts) {
    PageWriter page;
    page.byte(static_cast<std::uint8_t>(HealthPage::curve));
    write_subject(page, *part.subject, out.numbers);
    page.text(part.curve->quantity);
    const std::size_t end = std::min(part.first + samples_at_once, part.curve->samples.size());
    for (std::size_t i = part.first; i < end; ++i) {
      const HealthSample& sample = part.curve->samples[i];
      if (sample.record > out.newest_record) break;
      page.number(sample.record);
      page.real(sample.value);
    }
    out.put(page);
  }
}

void load_health(Recorder& recorder, PageReader& page, const SectionIn& in) {
  const std::uint8_t kind = page.byte();
  if (kind == static_cast<std::uint8_t>(HealthPage::marks)) {
    while (page.left() > 0) {
      const std::uint32_t record = record_up_to(page, in);
      recorder.health().mark({record, page.byte() != 0});
    }
    return;
  }
  if (kind != static_cast<std::uint8_t>(HealthPage::curve)) throw DamagedPage("an invalid page of health");
  const std::uint32_t subject = recorder.health().subject(read_subject(page, in));
  const std::string quantity(page.text("a quantity's name"));
  while (page.left() > 0) {
    const std::uint32_t record = record_up_to(page, in);
    const double value = page.real();
    if (subject != 0) recorder.health().put(subject, quantity, {record, value});
  }
}

}  // namespace tapedeck::trace_file
