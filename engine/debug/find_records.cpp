#include "engine/debug/find_records.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <unordered_map>

#include "engine/debug/describe.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

using protocol::Condition;
using protocol::FilterPart;
using protocol::TextTerm;
using protocol::Verdict;
using protocol::verdict_of;

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

bool looks_at(const TextTerm& term, FilterPart part) {
  return term.part == part || (term.part == FilterPart::any && part <= FilterPart::name);
}

class TermLook {
 public:
  TermLook(protocol::Term term, const Recorder& recorder, const std::vector<protocol::CellLabel>& labels)
      : term_(std::move(term)), recorder_(recorder), labels_(labels) {}

  Verdict verdict(const RecordGlance& record) {
    return std::visit([&](const auto& term) { return look(term, record); }, term_);
  }

 private:
  Verdict look(const TextTerm& term, const RecordGlance& record) {
    const RecordHead& head = record.head;
    if (term.part == FilterPart::is) return verdict_of(protocol::is_state(term, head.backward, record.state));
    return verdict_of(op(term, head) || kind(term, head) || scope(term, head.scope) ||
                      location(term, record) || dtypes(term, record.inputs) || dtypes(term, record.outputs) ||
                      named(term, FilterPart::reads, record.inputs) ||
                      named(term, FilterPart::writes, record.outputs));
  }
  Verdict look(protocol::Flag flag, const RecordGlance& record) {
    return verdict_of(
        protocol::has_flag(flag, record_kind(record.head.kind), record.head.backward, record.state));
  }
  Verdict look(const protocol::ShapeTerm& term, const RecordGlance& record) {
    const auto fits = [&](std::uint64_t id) {
      const std::uint32_t spec = spec_number(id);
      return spec != 0 && specs_.of(spec, [&] {
        const Shape shape = spec_of(spec).shape;
        return term.fits({shape.begin(), shape.end()});
      });
    };
    return verdict_of(std::any_of(record.inputs.begin(), record.inputs.end(), fits) ||
                      std::any_of(record.outputs.begin(), record.outputs.end(), fits));
  }
  Verdict look(const protocol::NumberTerm& term, const RecordGlance& record) {
    if (term.number == protocol::Number::line)
      return verdict_of(locations_.of(record.head.location,
                                      [&] { return term.holds(location_of(record.head.location).line); }));
    const bool known = record.device.state == WorkTime::host || record.device.state == WorkTime::known;
    if (term.number == protocol::Number::duration && !known) return Verdict::unknown;
    return verdict_of(term.holds(number(term.number, record)));
  }
  // Shapes and dtypes of tensors against each other: rare, so they are looked up each time.
  Verdict look(const protocol::ValueTerm& term, const RecordGlance& record) {
    std::vector<RecordedSpec> specs;
    specs.reserve(record.inputs.size() + record.outputs.size());
    std::vector<protocol::TensorFacts> facts;
    const auto add = [&](std::span<const std::uint64_t> ids) {
      for (const std::uint64_t id : ids)
        if (const std::uint32_t spec = spec_number(id)) {
          const RecordedSpec& known = specs.emplace_back(spec_of(spec));
          const auto count = static_cast<std::uint64_t>(element_count(known.shape));
          facts.push_back({{known.shape.begin(), known.shape.end()},
                           dtype_name(known.dtype),
                           count,
                           count * item_size(known.dtype)});
        }
      return facts.size();
    };
    const std::size_t inputs = add(record.inputs);
    add(record.outputs);
    protocol::OpFacts op;
    op.inputs = std::span(facts).first(inputs);
    op.outputs = std::span(facts).subspan(inputs);
    op.gives_gradients = record.head.kind == EventKind::vjp || record.head.kind == EventKind::playback;
    return evaluate(term, op);
  }
  Verdict look(const protocol::SeriesTerm&, const RecordGlance&) { return Verdict::unknown; }
  Verdict look(const protocol::NameTerm&, const RecordGlance&) { return Verdict::unknown; }

  bool op(const TextTerm& term, const RecordHead& head) {
    if (!looks_at(term, FilterPart::op)) return false;
    if (!head.op) return names_.of(head.name, [&] { return term.finds(FilterPart::op, name_of(head.name)); });
    if (head.op == last_op_) return last_op_verdict_;
    const auto [known, is_new] = ops_.try_emplace(head.op, false);
    if (is_new) known->second = term.finds(FilterPart::op, head.op->name);
    last_op_ = head.op;
    return last_op_verdict_ = known->second;
  }

  bool kind(const TextTerm& term, const RecordHead& head) {
    if (!looks_at(term, FilterPart::kind)) return false;
    const auto key = static_cast<std::uint32_t>(static_cast<int>(head.kind) * 4 + head.custom_gradient * 2 +
                                                head.backward);
    return kinds_.of(key, [&] {
      return term.finds(FilterPart::kind,
                        protocol::kind_text(record_kind(head.kind), head.custom_gradient, head.backward));
    });
  }

  bool scope(const TextTerm& term, std::uint32_t number) {
    return looks_at(term, FilterPart::scope) &&
           scopes_.of(number, [&] { return term.finds(FilterPart::scope, scope_text(number)); });
  }

  /// What a term says of a cell's name, which is that of the execution that made a record.
  struct CellVerdicts {
    std::vector<std::pair<std::uint32_t, bool>> runs;  ///< each from its first record on
    bool before = false;                               ///< of records before them
    bool of(std::uint32_t record) const {
      if (runs.empty() || record < runs.front().first) return before;
      if (record >= runs.back().first) return runs.back().second;
      const auto after = std::ranges::upper_bound(runs, record, {}, &std::pair<std::uint32_t, bool>::first);
      return std::prev(after)->second;
    }
  };

  bool location(const TextTerm& term, const RecordGlance& record) {
    const std::uint32_t number = record.head.location;
    if (looks_at(term, FilterPart::file) &&
        locations_.of(number, [&] { return term.finds(FilterPart::file, location_of(number).file); }))
      return true;
    return looks_at(term, FilterPart::cell) && cell(term, number).of(record.number);
  }

  const CellVerdicts& cell(const TextTerm& term, std::uint32_t location) {
    if (location >= cells_of_locations_.size()) cells_of_locations_.resize(location + 64, nullptr);
    const CellVerdicts*& known = cells_of_locations_[location];
    if (known) return *known;
    const std::string id = location_of(location).cell;
    const auto [found, is_new] = cells_.try_emplace(id);
    if (is_new) {
      const auto says = [&](std::uint64_t execution) {
        return term.finds(FilterPart::cell, protocol::label_of(id, execution, labels_));
      };
      found->second.before = says(0);
      for (const auto& [first, execution] : recorder_.cell_runs().executions(id))
        found->second.runs.emplace_back(first, says(execution));
    }
    return *(known = &found->second);
  }

  bool dtypes(const TextTerm& term, std::span<const std::uint64_t> tensors) {
    if (!looks_at(term, FilterPart::dtype)) return false;
    return std::any_of(tensors.begin(), tensors.end(), [&](std::uint64_t id) {
      const std::uint32_t spec = spec_number(id);
      return spec != 0 &&
             specs_.of(spec, [&] { return term.finds(FilterPart::dtype, dtype_name(spec_of(spec).dtype)); });
    });
  }

  bool named(const TextTerm& term, FilterPart role, std::span<const std::uint64_t> tensors) {
    if (!looks_at(term, FilterPart::name) && !looks_at(term, role)) return false;
    return std::any_of(tensors.begin(), tensors.end(), [&](std::uint64_t id) {
      if (!recorder_.trace().tensors().get(id).named()) return false;
      const std::uint32_t name = recorder_.values().name(id);
      return names_of_tensors_.of(name, [&] {
        const std::string text = name_of(name);
        return term.finds(FilterPart::name, text) || term.finds(role, text);
      });
    });
  }

  double number(protocol::Number number, const RecordGlance& record) {
    switch (number) {
      case protocol::Number::record:
        return record.number;
      case protocol::Number::line:
        return location_of(record.head.location).line;
      case protocol::Number::duration:
        return static_cast<double>(clock::nanoseconds(
            record.device.state == WorkTime::known ? record.device.duration : record.duration));
      case protocol::Number::bytes: {
        double bytes = 0;
        for (const std::uint64_t id : record.outputs)
          if (const std::uint32_t spec = spec_number(id)) {
            const RecordedSpec known = spec_of(spec);
            bytes +=
                static_cast<double>(element_count(known.shape)) * static_cast<double>(item_size(known.dtype));
          }
        return bytes;
      }
      case protocol::Number::thread:
        return record.head.thread;
      case protocol::Number::depth:
        return record.head.depth;
    }
    return 0;
  }

  /// 0: nothing is known of the tensor.
  std::uint32_t spec_number(std::uint64_t id) const {
    return id == 0 ? 0 : recorder_.trace().tensors().get(id).spec();
  }

  const protocol::Term term_;
  const Recorder& recorder_;
  const std::vector<protocol::CellLabel>& labels_;
  const OpDef* last_op_ = nullptr;
  bool last_op_verdict_ = false;
  std::unordered_map<const OpDef*, bool> ops_;
  std::unordered_map<std::string, CellVerdicts> cells_;  ///< by id; they stay where they are
  std::vector<const CellVerdicts*> cells_of_locations_;
  Verdicts names_, kinds_, scopes_, locations_, names_of_tensors_, specs_;
};

class Search {
 public:
  Search(const Recorder& recorder, const protocol::FindRecords& request)
      : recorder_(recorder), request_(request), filter_(protocol::parse_filter(request.filter)) {
    for_each_term(filter_, [&](const Condition& leaf) {
      terms_.emplace_back(leaf.term, recorder, request.labels);
      const auto* number = std::get_if<protocol::NumberTerm>(&leaf.term);
      asks_for_times_ |= number && number->number == protocol::Number::duration;
    });
    if (asks_for_times_) recorder.collect_device_times();
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

  bool direction(bool backward) const { return request_.backward.value_or(backward) == backward; }

  bool matches(const RecordGlance& record) {
    if (!direction(record.head.backward)) return false;
    const auto look = [&](const Condition& leaf) { return terms_[leaf.number].verdict(record); };
    return evaluate(filter_, look) == Verdict::yes;
  }

  void note_open(const RecordGlance& record) {
    if (record.state == RecordState::pending || record.state == RecordState::running ||
        (asks_for_times_ && record.device.state == WorkTime::pending))
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
    if (record && direction(record->backward) && protocol::matches(filter_, *record, request_.labels))
      answer_.runs.insert(answer_.runs.end(), {first, last});
  }

  const Recorder& recorder_;
  const protocol::FindRecords& request_;
  const Condition filter_;
  std::vector<TermLook> terms_;
  bool asks_for_times_ = false;
  protocol::FoundRecords answer_;
};

}  // namespace

protocol::FoundRecords find_records(const Recorder& recorder, const protocol::FindRecords& request,
                                    const CancelFlag* cancel) {
  return Search(recorder, request).run(cancel);
}

}  // namespace tapedeck::debug
