#include "engine/debug/memory/memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/debug/describe.h"
#include "engine/debug/tile.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/device_memory.h"

namespace tapedeck::debug {
namespace {

/// By tensors on all devices.
std::uint64_t bytes_in_use() {
  std::uint64_t bytes = pool_statistics().bytes_in_use;
  for (int gpu = 0; gpu < gpu_count(); ++gpu)
    bytes += device_memory({DeviceKind::gpu, static_cast<std::uint8_t>(gpu)}).statistics().bytes_in_use;
  return bytes;
}

using protocol::MemoryGroup;
using protocol::MemoryHolder;
using protocol::MemoryRow;

constexpr std::uint32_t most_points = 4000;
constexpr std::uint32_t most_rows = 1000;

/// What the recording took then, by the samples around it.
std::uint64_t recorder_at(const std::vector<RecorderSample>& samples, std::uint32_t record) {
  const auto after = std::upper_bound(
      samples.begin(), samples.end(), record,
      [](std::uint32_t number, const RecorderSample& sample) { return number < sample.record; });
  return after == samples.begin() ? 0 : std::prev(after)->bytes;
}

struct Maker {
  std::uint32_t record = 0, location = 0, scope = 0;
  std::string op;
};

Maker maker_of(const Recorder& recorder, std::uint64_t root) {
  Maker maker;
  const std::uint32_t record = recorder.trace().tensors().get(root).producer();
  if (record == 0) return maker;
  recorder.trace().glance(record, record, [&](const RecordGlance& glance) {
    if (glance.number != record) return;
    maker = {record, glance.head.location, glance.head.scope,
             glance.head.op ? glance.head.op->name : name_of(glance.head.name())};
  });
  return maker;
}

void set_place(MemoryRow& row, const Maker& maker) {
  const SourceLocation where = location_of(maker.location);
  row.record = protocol::if_there(maker.record);
  row.op = maker.op;
  row.cell = where.cell;
  row.file = where.file;
  row.line = where.line;
  row.scope = scope_text(maker.scope);
}

std::string op_name(const Recorder& recorder, std::uint32_t record) {
  std::string name;
  recorder.trace().glance(record, record, [&](const RecordGlance& glance) {
    name = glance.head.op ? glance.head.op->name : name_of(glance.head.name());
  });
  return name;
}

std::string variable_name(const Recorder& recorder, const VariableValue& value) {
  const std::uint32_t name = recorder.values().name(value.tensor);
  return name ? name_of(name) : "variable " + std::to_string(value.variable);
}

/// In words, without what the host language knows of names.
std::string held_by(const Recorder& recorder, const AliveStorage& storage) {
  if (storage.value) return "variable " + variable_name(recorder, *storage.value);
  if (storage.tape)
    return "tape " + std::to_string(storage.tape) + ", for the VJP of " + op_name(recorder, storage.node) +
           ", op " + std::to_string(storage.node);
  return storage.borrowed ? "NumPy's array" : "the program";
}

/// Sums rows that belong together.
class Groups {
 public:
  Groups(const Recorder& recorder, MemoryGroup by) : recorder_(recorder), by_(by) {}
  void add(const AliveStorage& storage) {
    const std::uint64_t key = key_of(storage);
    Group& group = groups_[key];
    group.bytes += storage.life.bytes;
    if (group.count++ == 0 || storage.life.bytes > group.largest->life.bytes) group.largest = &storage;
  }
  std::vector<MemoryRow> rows() const {
    std::vector<MemoryRow> rows;
    for (const auto& [key, group] : groups_) {
      MemoryRow row;
      row.bytes = group.bytes;
      row.count = group.count;
      row.holder = group.largest->holder;
      row.borrowed = group.largest->borrowed;
      if (by_ == MemoryGroup::holder) row.tape = protocol::if_there(group.largest->tape);
      row.tensor.id = group.largest->life.root;
      set_place(row, maker_of(recorder_, group.largest->life.root));
      row.name = name_of_group(*group.largest, row);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  struct Group {
    std::uint64_t bytes = 0, count = 0;
    const AliveStorage* largest = nullptr;
  };

  std::uint64_t key_of(const AliveStorage& storage) const {
    if (by_ == MemoryGroup::holder) {
      const std::uint64_t who = storage.holder == MemoryHolder::variable ? storage.value->variable
                                : storage.holder == MemoryHolder::tape   ? storage.tape
                                                                         : storage.borrowed;
      return who << 2 | static_cast<std::uint64_t>(storage.holder);
    }
    const Maker maker = maker_of(recorder_, storage.life.root);
    if (by_ == MemoryGroup::line) return maker.record ? maker.location + 1 : 0;
    return maker.record ? maker.scope + 1 : 0;
  }

  std::string name_of_group(const AliveStorage& one, const MemoryRow& row) const {
    if (by_ == MemoryGroup::holder) {
      if (one.value) return "variable " + variable_name(recorder_, *one.value);
      if (one.holder == MemoryHolder::tape) return "tape " + std::to_string(one.tape);
      return one.borrowed ? "NumPy's arrays" : "the program";
    }
    if (!row.record) return "values that no op made";
    if (by_ == MemoryGroup::scope) return row.scope.empty() ? "no scope" : row.scope;
    return row.line ? std::string() : "no line";
  }

  const Recorder& recorder_;
  const MemoryGroup by_;
  std::map<std::uint64_t, Group> groups_;
};

MemoryRow row_of(const Recorder& recorder, const AliveStorage& storage) {
  MemoryRow row;
  row.holder = storage.holder;
  row.bytes = storage.life.bytes;
  row.count = 1;
  row.tape = protocol::if_there(storage.tape);
  row.borrowed = storage.borrowed;
  row.tensor = tensor_info(recorder, storage.life.root, true);
  row.held_by = held_by(recorder, storage);
  if (storage.value) row.name = variable_name(recorder, *storage.value);
  set_place(row, maker_of(recorder, storage.life.root));
  return row;
}

struct Totals {
  std::int64_t bytes = 0, tapes = 0;
};

/// Between that record and the next.
Totals after(const MemoryIndex& index, const Recorder& recorder, std::uint32_t record) {
  Totals totals;
  const auto there = [&](std::uint32_t born, std::uint32_t gone) {
    return born <= record && (gone == 0 || gone > record + 1);
  };
  for (const StorageLife& life : index.lives())
    if (there(life.counts_from(), index.gone(life)) && !recorder.memory().size(life.root, 0).borrowed)
      totals.bytes += static_cast<std::int64_t>(life.bytes);
  for (const TapeLife& tape : index.tapes())
    totals.tapes += !tape.nodes.empty() && there(tape.first, tape.ended);
  return totals;
}

std::string signed_count(std::int64_t count, const char* one, const char* many) {
  return (count < 0 ? "−" : "+") + std::to_string(std::abs(count)) + " " +
         (std::abs(count) == 1 ? one : many);
}

/// What the last turn before the record left behind.
std::string change_text(const MemoryIndex& index, const Recorder& recorder, std::uint32_t record) {
  const bool steps = index.steps().size() >= 2;
  const std::vector<std::uint32_t>& turns = steps ? index.steps() : index.gradients();
  const auto end = record == 0 ? turns.end() : std::upper_bound(turns.begin(), turns.end(), record);
  if (end - turns.begin() < 2) return {};
  const Totals before = after(index, recorder, *std::prev(end, 2));
  const Totals now = after(index, recorder, *std::prev(end));
  std::string text = steps ? "Since the step before: " : "Since the gradient before: ";
  const std::int64_t bytes = now.bytes - before.bytes, tapes = now.tapes - before.tapes;
  if (bytes == 0 && tapes == 0) return text + "unchanged.";
  if (tapes != 0) text += signed_count(tapes, "tape", "tapes") + ", ";
  return text + (bytes < 0 ? "−" : "+") + bytes_text(static_cast<std::uint64_t>(std::abs(bytes))) + ".";
}

}  // namespace

protocol::MemoryCurve MemoryReader::curve(const protocol::GetMemoryCurve& request, const CancelFlag* cancel) {
  if (request.points > most_points)
    throw BadRequest("get_memory_curve: " + std::to_string(request.points) +
                     " points were asked for, the most is " + std::to_string(most_points));
  const std::lock_guard lock(mutex_);
  index_.catch_up(cancel);
  protocol::MemoryCurve curve;
  curve.total = index_.last();
  const std::uint64_t newest = index_.last();
  const std::uint64_t first = std::clamp<std::uint64_t>(request.first, index_.first(), newest + 1);
  const std::uint64_t last = std::min(request.last.value_or(newest), newest);
  curve.peak_record = index_.peak();
  if (index_.peak()) curve.peak_bytes = index_.at(index_.peak()).sum();
  if (first > last || request.points == 0) return curve;
  curve.first = first;
  curve.last = last;
  const std::vector<RecorderSample> samples = recorder_.memory().samples();
  const std::uint64_t count = last - first + 1;
  const std::uint64_t pieces = std::min<std::uint64_t>(request.points, count);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    check_cancelled(cancel);
    const auto begin = static_cast<std::uint32_t>(first + count * piece / pieces);
    const auto end = static_cast<std::uint32_t>(first + count * (piece + 1) / pieces);
    std::uint32_t most = begin;
    std::uint64_t most_bytes = index_.at(begin).sum(), least = most_bytes;
    for (std::uint32_t record = begin + 1; record < end; ++record) {
      const std::uint64_t bytes = index_.at(record).sum();
      if (bytes > most_bytes) most = record, most_bytes = bytes;
      least = std::min(least, bytes);
    }
    const MemoryMoment& moment = index_.at(most);
    curve.records.push_back(most);
    curve.variables.push_back(static_cast<double>(moment.variables));
    curve.tapes.push_back(static_cast<double>(moment.tapes));
    curve.program.push_back(static_cast<double>(moment.program));
    curve.recorder.push_back(static_cast<double>(recorder_at(samples, most)));
    curve.least.push_back(static_cast<double>(least));
  }
  // The newest record is now.
  if (last == newest && !recorder_.file()) curve.recorder.back() = static_cast<double>(recorder_.bytes());
  curve.growth = growth(cancel);
  return curve;
}

std::vector<protocol::MemoryGrowth> MemoryReader::growth(const CancelFlag* cancel) {
  constexpr std::size_t most_runs = 16;  // of cells
  std::vector<protocol::MemoryGrowth> growth = find_growth(index_, recorder_, cancel);
  if (past_first_ != index_.first()) past_.clear();
  past_first_ = index_.first();
  const std::vector<std::uint32_t>& ends = index_.cells();
  const std::size_t from = ends.size() - std::min(ends.size(), most_runs);
  past_.erase(past_.begin(), past_.lower_bound(from < ends.size() ? ends[from] : UINT32_MAX));
  for (std::size_t i = from; i < ends.size(); ++i)
    if (ends[i] >= index_.first() && ends[i] <= index_.last() && !past_.contains(ends[i]))
      past_[ends[i]] = find_past_growth(index_, recorder_, ends[i], cancel);
  add_past_growth(index_, past_, growth);
  return growth;
}

protocol::MemoryState MemoryReader::state(const protocol::GetMemoryState& request, const CancelFlag* cancel) {
  if (request.count > most_rows)
    throw BadRequest("get_memory_state: " + std::to_string(request.count) +
                     " rows were asked for, the most is " + std::to_string(most_rows));
  const std::lock_guard lock(mutex_);
  index_.catch_up(cancel);
  const auto record =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(request.record.value_or(0), index_.last()));
  const std::uint64_t in_use = bytes_in_use(), of_observers = bytes_of_observers();
  std::vector<AliveStorage> alive = alive_at(index_, recorder_, record, cancel);
  protocol::MemoryState state;
  state.record = protocol::if_there(record);
  state.first = request.first;
  state.storages = alive.size();
  for (const AliveStorage& storage : alive) {
    std::uint64_t& sum = storage.borrowed                           ? state.borrowed
                         : storage.holder == MemoryHolder::variable ? state.variables
                         : storage.holder == MemoryHolder::tape     ? state.tapes
                                                                    : state.program;
    sum += storage.life.bytes;
  }
  for (const TapeLife& tape : index_.tapes())
    state.live_tapes += !tape.nodes.empty() && (record == 0 || tape.first <= record) &&
                        (tape.ended == 0 || (record != 0 && tape.ended > record));
  // What this process holds says nothing of the session that a file was saved of.
  const bool is_live = record == 0 && !recorder_.file();
  state.recorder = is_live ? recorder_.bytes()
                           : recorder_at(recorder_.memory().samples(), record ? record : index_.last());
  const std::uint64_t told = state.variables + state.tapes + state.program + of_observers;
  if (is_live) state.elsewhere = in_use - std::min(in_use, told);
  if (is_live) state.recomputed = recorder_.values().recomputed_bytes();
  state.change = protocol::if_there(change_text(index_, recorder_, record));
  const auto larger = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };
  if (request.group == MemoryGroup::tensor) {
    state.total = alive.size();
    std::stable_sort(alive.begin(), alive.end(), [](const AliveStorage& a, const AliveStorage& b) {
      return a.life.bytes > b.life.bytes;
    });
    for (std::uint64_t i = request.first; i < std::min(state.total, request.first + request.count); ++i)
      state.rows.push_back(row_of(recorder_, alive[i]));
    return state;
  }
  Groups groups(recorder_, request.group);
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (i % 4096 == 0) check_cancelled(cancel);
    groups.add(alive[i]);
  }
  std::vector<MemoryRow> rows = groups.rows();
  std::stable_sort(rows.begin(), rows.end(), larger);
  state.total = rows.size();
  for (std::uint64_t i = request.first; i < std::min(state.total, request.first + request.count); ++i) {
    rows[i].tensor = tensor_info(recorder_, rows[i].tensor.id, true);
    state.rows.push_back(std::move(rows[i]));
  }
  return state;
}

}  // namespace tapedeck::debug
