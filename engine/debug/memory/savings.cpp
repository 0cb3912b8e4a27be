// What tf.recompute_grad would save: values that a tape keeps for ops inside a scope alone, and the time that
// computing them again takes.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/debug/memory/memory.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/scope.h"

namespace tapedeck::debug {
namespace {

using protocol::RecomputeSaving;

constexpr std::size_t most_savings = 500;

/// A part of the tape: a scope with all inside of it, or a span of records.
struct Part {
  std::string scope;  ///< empty: the span
  std::uint32_t first = 0, last = 0;
};

struct SavedNode {
  std::uint32_t record = 0;
  std::string scope;
  std::int64_t ticks = 0;
};

/// A storage that the tape keeps.
struct Kept {
  std::uint64_t bytes = 0;
  std::uint32_t maker = 0;  ///< 0: no op
  std::string maker_scope;
  std::vector<std::size_t> nodes;  ///< for which
};

bool is_inside(const std::string& scope, const std::string& outer) {
  return scope.starts_with(outer) && (scope.size() == outer.size() || scope[outer.size()] == '/');
}

bool contains(const Part& part, std::uint32_t record, const std::string& scope) {
  return part.scope.empty() ? part.first <= record && record <= part.last : is_inside(scope, part.scope);
}

std::string span_text(const Part& span) {
  if (span.first == span.last) return "op " + std::to_string(span.first);
  return "ops " + std::to_string(span.first) + " to " + std::to_string(span.last);
}

std::string time_text(std::int64_t nanoseconds) {
  char text[32];
  const double time = static_cast<double>(nanoseconds);
  if (time >= 1e9)
    std::snprintf(text, sizeof text, "%.3g s", time / 1e9);
  else if (time >= 1e6)
    std::snprintf(text, sizeof text, "%.3g ms", time / 1e6);
  else
    std::snprintf(text, sizeof text, "%.3g µs", time / 1e3);
  return text;
}

class Savings {
 public:
  Savings(const MemoryIndex& index, const Recorder& recorder, std::uint32_t peak, const CancelFlag* cancel)
      : index_(index), recorder_(recorder), peak_(peak) {
    const std::vector<AliveStorage> alive = alive_at(index, recorder, peak, cancel);
    find_tape(alive);
    if (tape_) look_at_nodes(alive, cancel);
  }
  const TapeLife* tape() const { return tape_; }

  std::vector<Part> scopes() const {
    std::map<std::string, int> scopes;
    for (const SavedNode& node : nodes_)
      for (std::size_t end = node.scope.size(); end != std::string::npos && end > 0;
           end = node.scope.rfind('/', end - 1))
        scopes.try_emplace(node.scope.substr(0, end));

    std::vector<Part> parts;
    for (const auto& [scope, unused] : scopes) parts.push_back({scope, 0, 0});
    return parts;
  }

  RecomputeSaving saving(const Part& part, std::uint64_t peak_bytes) const {
    RecomputeSaving saving;
    saving.scope = protocol::if_there(part.scope);
    std::int64_t ticks = 0;
    for (const SavedNode& node : nodes_) {
      if (!contains(part, node.record, node.scope)) continue;
      ++saving.ops;
      ticks += node.ticks;
      if (saving.first == 0) saving.first = node.record;
      saving.last = node.record;
    }
    for (const auto& [root, kept] : kept_) {
      const auto inside = [&](std::size_t node) {
        return contains(part, nodes_[node].record, nodes_[node].scope);
      };
      if (std::any_of(kept.nodes.begin(), kept.nodes.end(), inside)) saving.held += kept.bytes;
      if (kept.maker != 0 && contains(part, kept.maker, kept.maker_scope) &&
          std::all_of(kept.nodes.begin(), kept.nodes.end(), inside))
        saving.bytes += kept.bytes;
    }
    saving.again_ns = clock::nanoseconds(ticks);
    const std::string around = part.scope.empty() ? span_text(part) : part.scope;
    if (saving.ops == 0) {  // of a span alone: scopes are found by their ops
      saving.first = part.first;
      saving.last = part.last;
      saving.sentence = "Tape " + std::to_string(tape_->id) + " keeps nothing for " + around +
                        " at the peak: recompute_grad would save nothing there.";
      return saving;
    }
    saving.sentence = "recompute_grad around " + around + " would save " + bytes_text(saving.bytes) +
                      " of the " + bytes_text(peak_bytes) + " at the peak, for " +
                      time_text(saving.again_ns) + " more each time.";
    return saving;
  }

 private:
  void find_tape(const std::vector<AliveStorage>& alive) {
    std::unordered_map<std::uint64_t, std::uint64_t> bytes;
    for (const AliveStorage& storage : alive)
      if (storage.tape && !storage.borrowed) bytes[storage.tape] += storage.life.bytes;
    std::uint64_t most = 0;
    for (const TapeLife& tape : index_.tapes())
      if (const auto found = bytes.find(tape.id); found != bytes.end() && found->second > most) {
        most = found->second;
        tape_ = &tape;
      }
  }

  void look_at_nodes(const std::vector<AliveStorage>& alive, const CancelFlag* cancel) {
    std::unordered_map<std::uint64_t, std::uint64_t> there;
    for (const AliveStorage& storage : alive)
      if (!storage.borrowed && !storage.value) there.emplace(storage.life.root, storage.life.bytes);
    const TensorTable& table = recorder_.trace().tensors();
    std::vector<std::uint64_t> ids;
    for (const TapeNode& node : tape_->nodes) {
      if (node.record > peak_ || (node.released != 0 && node.released <= peak_)) continue;
      check_cancelled(cancel);
      const std::size_t place = nodes_.size();
      nodes_.push_back(node_of(node.record));
      index_.kept_of(node.record, ids);
      for (const std::uint64_t id : ids) {
        const std::uint64_t root = table.life(id).root;
        const auto found = there.find(root);
        if (found == there.end()) continue;
        const auto [entry, is_new] = kept_.try_emplace(root);
        Kept& kept = entry->second;
        if (is_new) {
          kept.bytes = found->second;
          kept.maker = table.get(root).producer();
          if (kept.maker) kept.maker_scope = node_of(kept.maker).scope;
        }
        kept.nodes.push_back(place);
      }
    }
  }

  SavedNode node_of(std::uint32_t record) const {
    SavedNode node;
    node.record = record;
    std::uint32_t scope = 0;
    recorder_.trace().glance(record, record, [&](const RecordGlance& glance) {
      scope = glance.head.scope;
      node.ticks = glance.device.state == WorkTime::known ? glance.device.duration : glance.duration;
    });
    node.scope = scope_text(scope);
    return node;
  }

  const MemoryIndex& index_;
  const Recorder& recorder_;
  const std::uint32_t peak_;
  const TapeLife* tape_ = nullptr;
  std::vector<SavedNode> nodes_;
  std::unordered_map<std::uint64_t, Kept> kept_;
};

}  // namespace

protocol::RecomputeSavings MemoryReader::savings(const protocol::GetRecomputeSavings& request,
                                                 const CancelFlag* cancel) {
  const std::lock_guard lock(mutex_);
  index_.catch_up(cancel);
  protocol::RecomputeSavings answer;
  answer.peak_record = index_.peak();
  if (index_.peak() == 0) {
    answer.sentence = "No op has run yet.";
    return answer;
  }
  answer.peak_bytes = index_.at(index_.peak()).sum();
  const Savings savings(index_, recorder_, index_.peak(), cancel);
  if (!savings.tape()) {
    answer.sentence = "At the peak, " + bytes_text(answer.peak_bytes) + " at op " +
                      std::to_string(answer.peak_record) +
                      ", no tape keeps anything: recompute_grad would save nothing.";
    return answer;
  }
  answer.tape = savings.tape()->id;
  std::vector<Part> parts = savings.scopes();
  if (request.first)
    parts = {{std::string(), static_cast<std::uint32_t>(*request.first),
              static_cast<std::uint32_t>(
                  std::min<std::uint64_t>(request.last.value_or(recorder_.trace().newest()), UINT32_MAX))}};
  for (const Part& part : parts) {
    check_cancelled(cancel);
    answer.savings.push_back(savings.saving(part, answer.peak_bytes));
  }
  std::stable_sort(answer.savings.begin(), answer.savings.end(),
                   [](const RecomputeSaving& a, const RecomputeSaving& b) { return a.bytes > b.bytes; });
  if (answer.savings.size() > most_savings) answer.savings.resize(most_savings);
  if (answer.savings.empty())
    answer.sentence = "The ops that tape " + std::to_string(*answer.tape) +
                      " keeps at the peak are in no scope (tf.name_scope, or a layer): choose a span of ops.";
  else
    answer.sentence = answer.savings.front().sentence;
  return answer;
}

}  // namespace tapedeck::debug
