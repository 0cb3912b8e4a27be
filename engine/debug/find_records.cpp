#include "engine/debug/find_records.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "engine/debug/describe.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/scope.h"
#include "engine/record/source_location.h"

namespace tapedeck::debug {
namespace {

using protocol::FilterPart;
using protocol::FilterTerm;

constexpr std::chrono::milliseconds most_time(50);
constexpr std::uint32_t records_at_once = 2048;
constexpr std::size_t most_runs = 16384;
constexpr std::size_t most_open = 1000;

/// What a term says of texts that many records share, by the number that they go by; each is looked at once.
class Verdicts {
 public:
  template <class Look>
  bool of(std::uint32_t number, Look&& look) {
    if (number >= known_.size()) known_.resize(number + 64, unknown);
    std::uint8_t& verdict = known_[number];
    if (verdict == unknown) verdict = look();
    return verdict != 0;
  }

 private:
  static constexpr std::uint8_t unknown = 2;
  std::vector<std::uint8_t> known_;
};

class TermLook {
 public:
  TermLook(FilterTerm term, const Recorder& recorder, const std::vector<protocol::CellLabel>& labels)
      : term_(std::move(term)), recorder_(recorder), labels_(labels) {}

  bool matches(const RecordGlance& record) {
    const RecordHead& head = record.head;
    if (term_.part == FilterPart::is) return term_.is(head.backward, record.state);
    return op(head) || kind(head) || scope(head.scope) || location(head.location) || named(record.inputs) ||
           named(record.outputs);
  }

 private:
  bool looks_at(FilterPart part) const { return term_.part == FilterPart::any || term_.part == part; }

  bool op(const RecordHead& head) {
    if (!looks_at(FilterPart::op)) return false;
    if (!head.op)
      return names_.of(head.name, [&] { return term_.finds(FilterPart::op, name_of(head.name)); });
    if (head.op == last_op_) return last_op_verdict_;
    const auto [known, is_new] = ops_.try_emplace(head.op, false);
    if (is_new) known->second = term_.finds(FilterPart::op, head.op->name);
    last_op_ = head.op;
    return last_op_verdict_ = known->second;
  }

  bool kind(const RecordHead& head) {
    if (!looks_at(FilterPart::kind)) return false;
    const auto key = static_cast<std::uint32_t>(static_cast<int>(head.kind) * 4 + head.custom_gradient * 2 +
                                                head.backward);
    return kinds_.of(key, [&] {
      return term_.finds(FilterPart::kind,
                         protocol::kind_text(record_kind(head.kind), head.custom_gradient, head.backward));
    });
  }

  bool scope(std::uint32_t number) {
    return looks_at(FilterPart::scope) &&
           scopes_.of(number, [&] { return term_.finds(FilterPart::scope, scope_text(number)); });
  }

  bool location(std::uint32_t number) {
    if (!looks_at(FilterPart::cell) && !looks_at(FilterPart::file)) return false;
    return locations_.of(number, [&] {
      const SourceLocation where = location_of(number);
      return term_.finds(FilterPart::cell, protocol::label_of(where.cell, labels_)) ||
             term_.finds(FilterPart::file, where.file);
    });
  }

  bool named(std::span<const std::uint64_t> tensors) {
    if (!looks_at(FilterPart::name)) return false;
    return std::any_of(tensors.begin(), tensors.end(), [&](std::uint64_t id) {
      if (!recorder_.trace().tensors().get(id).named()) return false;
      const std::uint32_t name = recorder_.values().name(id);
      return names_of_tensors_.of(name, [&] { return term_.finds(FilterPart::name, name_of(name)); });
    });
  }

  const FilterTerm term_;
  const Recorder& recorder_;
  const std::vector<protocol::CellLabel>& labels_;
  const OpDef* last_op_ = nullptr;
  bool last_op_verdict_ = false;
  std::unordered_map<const OpDef*, bool> ops_;
  Verdicts names_, kinds_, scopes_, locations_, names_of_tensors_;
};

class Search {
 public:
  Search(const Recorder& recorder, const protocol::FindRecords& request)
      : recorder_(recorder), request_(request), filter_(protocol::parse_filter(request.filter)) {
    for (const FilterTerm& term : filter_) terms_.emplace_back(term, recorder, request.labels);
  }

  protocol::FoundRecords run(const CancelFlag* cancel) {
    const auto give_up = std::chrono::steady_clock::now() + most_time;
    const Trace& trace = recorder_.trace();
    answer_.total = trace.newest();
    look_again();
    std::uint64_t next = std::clamp<std::uint64_t>(request_.first, 1, answer_.total + 1);
    while (next <= answer_.total && !full() && std::chrono::steady_clock::now() < give_up) {
      check_cancelled(cancel);
      if (const std::uint64_t kept = trace.oldest_kept(); next < kept) {
        forgotten(next, kept - 1);
        next = kept;
        continue;
      }
      const std::uint64_t last = std::min<std::uint64_t>(next + records_at_once - 1, answer_.total);
      const std::uint32_t after =
          trace.glance(static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(last),
                       [this](const RecordGlance& record) { take(record); });
      if (after <= next) break;  // its thread writes it just now
      next = after;
    }
    answer_.scanned = next - 1;
    return std::move(answer_);
  }

 private:
  bool full() const { return answer_.runs.size() >= 2 * most_runs || answer_.open.size() >= most_open; }

  bool matches(const RecordGlance& record) {
    return std::all_of(terms_.begin(), terms_.end(), [&](TermLook& term) { return term.matches(record); });
  }

  void note_open(const RecordGlance& record) {
    if (record.state == RecordState::pending || record.state == RecordState::running)
      answer_.open.push_back(record.number);
  }

  void take(const RecordGlance& record) {
    note_open(record);
    if (matches(record)) add(record.number);
  }

  void add(std::uint64_t number) {
    if (!answer_.runs.empty() && answer_.runs.back() + 1 == number) {
      answer_.runs.back() = number;
    } else {
      answer_.runs.insert(answer_.runs.end(), {number, number});
    }
  }

  void look_again() {
    const std::uint64_t newest = answer_.total;
    for (std::size_t i = 0; i < std::min(request_.again.size(), most_open); ++i) {
      const std::uint64_t number = request_.again[i];
      if (number == 0 || number > newest) continue;
      const auto record = static_cast<std::uint32_t>(number);
      recorder_.trace().glance(record, record, [&](const RecordGlance& glance) {
        if (glance.number != record) return;
        note_open(glance);
        if (matches(glance)) answer_.again.push_back(number);
      });
    }
  }

  /// All of them look the same.
  void forgotten(std::uint64_t first, std::uint64_t last) {
    const auto record = describe(recorder_, static_cast<std::uint32_t>(first), false);
    if (record && protocol::matches(filter_, *record, request_.labels))
      answer_.runs.insert(answer_.runs.end(), {first, last});
  }

  const Recorder& recorder_;
  const protocol::FindRecords& request_;
  const protocol::Filter filter_;
  std::vector<TermLook> terms_;
  protocol::FoundRecords answer_;
};

}  // namespace

protocol::FoundRecords find_records(const Recorder& recorder, const protocol::FindRecords& request,
                                    const CancelFlag* cancel) {
  return Search(recorder, request).run(cancel);
}

}  // namespace tapedeck::debug
