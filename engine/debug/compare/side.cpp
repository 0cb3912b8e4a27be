#include "engine/debug/compare/side.h"

#include <algorithm>
#include <unordered_map>

#include "engine/debug/calls_around.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/compare/tensor_file.h"
#include "engine/debug/hashed.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t glanced_at_once = 4096;

class SideReader {
 public:
  SideReader(const Side& side, const PortPlace& port) : trace_(side.recorder->trace()), port_(port) {}

  void take(const RecordGlance& record) {
    const std::uint16_t calls = calls_around_.of(record).calls;
    if (record.head.kind == EventKind::call && !is_traced_gradient(record.head)) {
      ++calls_;
      return;
    }
    if (record.head.kind == EventKind::op && record.head.op)
      ++(is_foreign(*record.head.op) ? foreign_ : own_);
    if (record.head.op && !tensors_ && is_file_tensor(*record.head.op)) tensors_ = true;
    const auto [thread, fresh] = threads_.try_emplace(record.head.thread, by_thread_.size());
    if (fresh) by_thread_.emplace_back();
    Sequence& mine = by_thread_[thread->second];
    mine.records.push_back(record.number);
    mine.keys.push_back(key_of(record, thread->second, calls));
    mine.computes.push_back(record.head.kind == EventKind::op && record.state == RecordState::done &&
                            std::ranges::any_of(record.outputs, [](std::uint64_t id) { return id != 0; }));
  }

  Sequence joined() {
    Sequence all;
    if (!by_thread_.empty()) all = std::move(by_thread_.front());
    all.calls = calls_;
    all.foreign_ops = foreign_;
    all.own_ops = own_;
    all.tensors = tensors_;
    for (std::size_t i = 1; i < by_thread_.size(); ++i) {
      const Sequence& next = by_thread_[i];
      all.records.insert(all.records.end(), next.records.begin(), next.records.end());
      all.keys.insert(all.keys.end(), next.keys.begin(), next.keys.end());
      all.computes.insert(all.computes.end(), next.computes.begin(), next.computes.end());
    }
    return all;
  }

 private:
  /// What a record is called where it is paired.
  struct Called {
    EventKind kind = EventKind::op;
    const OpDef* op = nullptr;
    std::uint32_t name = 0;  ///< where there is no op
  };

  /// The gradients that the trace of a graph function made are paired with an eager run's playbacks and VJPs.
  static Called called(const RecordHead& head) {
    if (head.kind != EventKind::call) return {head.kind, head.op, head.name()};
    const std::string name = name_of(head.name());
    constexpr std::string_view vjp = "VJP of ";
    if (!name.starts_with(vjp)) return {EventKind::playback, nullptr, head.name()};
    const std::string of = name.substr(vjp.size(), std::min(name.rfind(", line "), name.size()) - vjp.size());
    if (const OpDef* op = Registry::instance().find(of)) return {EventKind::vjp, op, 0};
    return {EventKind::vjp, nullptr, intern_name(of)};
  }

  OpKey key_of(const RecordGlance& record, std::uint64_t thread, std::uint16_t calls) {
    const RecordHead& head = record.head;
    OpKey key;
    if (port_) {
      key.place = port_(record);
      key.shapes = record.outputs.empty() ? 0 : unordered(record.outputs[0]);
      return key;  // lines and attributes are each framework's own
    }
    const Called as = called(head);
    std::uint64_t place = hashed(thread, as.op ? reinterpret_cast<std::uintptr_t>(as.op) : 0);
    if (!as.op) place = hashed(place, as.name);
    const bool custom =
        head.custom_gradient || (head.kind == EventKind::call && as.kind == EventKind::vjp && !as.op);
    place = hashed(place, static_cast<std::uint64_t>(as.kind) * 4 + custom * 2 + head.backward);
    place = hashed(place, head.depth - calls);
    key.place = hashed(place, scope(head.scope));
    std::uint64_t attributes = 1;
    for (std::size_t i = 0; i < head.attributes.size(); ++i)
      attributes = hashed(attributes, attribute_hash(head.attributes[i]));
    key.attributes = static_cast<std::uint32_t>(attributes >> 16);
    std::uint64_t shapes = hashed(record.inputs.size(), record.outputs.size());
    for (const std::uint64_t id : record.inputs) shapes = hashed(shapes, spec(id));
    for (const std::uint64_t id : record.outputs) shapes = hashed(shapes, spec(id));
    key.shapes = static_cast<std::uint32_t>(hashed(shapes, record.state == RecordState::failed) >> 16);
    key.line = line(head.location);
    // What a trace's VJP gives may have been merged, or never computed.
    const bool traced_vjp = head.kind == EventKind::vjp && head.tape == 0;
    if (head.kind == EventKind::call || traced_vjp) key.attributes = key.shapes = OpKey::unknown;
    return key;
  }

  std::uint32_t spec(std::uint64_t id) const { return id ? trace_.tensors().get(id).spec() : 0; }

  /// Of a tensor's extents in any order.
  std::uint32_t unordered(std::uint64_t id) const {
    const std::uint32_t number = spec(id);
    std::uint64_t hash = 1;
    if (number)
      for (const std::int64_t extent : unordered_extents(spec_of(number).shape))
        hash = hashed(hash, static_cast<std::uint64_t>(extent));
    return std::min(static_cast<std::uint32_t>(hash >> 16), OpKey::unknown - 1);
  }

  std::uint64_t scope(std::uint32_t number) {
    if (number == 0) return 0;
    const auto [known, fresh] = scopes_.try_emplace(number, 0);
    if (fresh) known->second = std::hash<std::string>()(scope_without_numbers(scope_text(number)));
    return known->second;
  }
  std::uint32_t line(std::uint32_t location) {
    const auto [known, fresh] = lines_.try_emplace(location, 0);
    if (fresh) known->second = location_of(location).line;
    return known->second;
  }

  const Trace& trace_;
  const PortPlace& port_;
  CallsAround calls_around_;
  std::uint64_t calls_ = 0, foreign_ = 0, own_ = 0;
  bool tensors_ = false;
  std::unordered_map<std::uint16_t, std::size_t> threads_;
  std::unordered_map<std::uint32_t, std::uint64_t> scopes_;
  std::unordered_map<std::uint32_t, std::uint32_t> lines_;
  std::vector<Sequence> by_thread_;
};

}  // namespace

std::string scope_without_numbers(const std::string& scope) {
  std::string plain;
  for (std::size_t at = 0; at <= scope.size();) {
    const std::size_t slash = std::min(scope.find('/', at), scope.size());
    std::size_t end = slash;
    while (end > at && scope[end - 1] >= '0' && scope[end - 1] <= '9') --end;
    const bool numbered = end < slash && end > at + 1 && scope[end - 1] == '_';
    plain.append(scope, at, (numbered ? end - 1 : slash) - at);
    if (slash < scope.size()) plain += '/';
    at = slash + 1;
  }
  return plain;
}

Sequence sequence_of(const Side& side, const CancelFlag* cancel, const SideProgress& progress,
                     const PortPlace& port) {
  SideReader reader(side, port);
  const Trace& trace = side.recorder->trace();
  for (std::uint64_t next = side.first; next <= side.last;) {
    check_cancelled(cancel);
    next = std::max<std::uint64_t>(next, trace.oldest_kept());
    if (next > side.last) break;
    const std::uint64_t last = std::min<std::uint64_t>(next + glanced_at_once - 1, side.last);
    const std::uint32_t after =
        trace.glance(static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(last),
                     [&](const RecordGlance& record) { reader.take(record); });
    if (after <= next) break;  // its thread writes it just now
    next = after;
    if (progress) progress(next - side.first);
  }
  return reader.joined();
}

}  // namespace tapedeck::debug
