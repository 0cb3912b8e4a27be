#include "engine/debug/term_look.h"

#include <algorithm>

#include "engine/debug/value_look.h"
#include "engine/protocol/call_text.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {

using protocol::FilterPart;
using protocol::TextTerm;
using protocol::Verdict;
using protocol::verdict_of;

namespace {

bool looks_at(const TextTerm& term, FilterPart part) {
  return term.part == part || (term.part == FilterPart::any && part <= FilterPart::name);
}

}  // namespace

Verdict TermLook::look(const TextTerm& term, const RecordGlance& record) {
  const RecordHead& head = record.head;
  if (term.part == FilterPart::is) return verdict_of(protocol::is_state(term, head.backward, record.state));
  return verdict_of(op(term, head) || kind(term, head) || scope(term, head.scope) || location(term, record) ||
                    call(term, head) || dtypes(term, record.inputs) || dtypes(term, record.outputs) ||
                    named(term, FilterPart::reads, record.inputs) ||
                    named(term, FilterPart::writes, record.outputs));
}

Verdict TermLook::look(protocol::Flag flag, const RecordGlance& record) {
  if (flag == protocol::Flag::bookmarked)
    return verdict_of(std::ranges::binary_search(bookmarked_, std::uint64_t{record.number}));
  return verdict_of(
      protocol::has_flag(flag, record_kind(record.head.kind), record.head.backward, record.state));
}

Verdict TermLook::look(const protocol::ShapeTerm& term, const RecordGlance& record) {
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

Verdict TermLook::look(const protocol::NumberTerm& term, const RecordGlance& record) {
  if (term.number == protocol::Number::line)
    return verdict_of(locations_.of(record.head.location,
                                    [&] { return term.holds(location_of(record.head.location).line); }));
  const bool known = record.device.state == WorkTime::host || record.device.state == WorkTime::known;
  if (term.number == protocol::Number::duration && !known) return Verdict::unknown;
  return verdict_of(term.holds(number(term.number, record)));
}

// Shapes and dtypes of tensors against each other: rare, so they are looked up each time.
// Rare, so the facts are made each time.
Verdict TermLook::look(const protocol::ValueTerm& term, const RecordGlance& record) {
  RecordFacts facts(record.inputs, record.outputs, recorder_, gives_gradients(record.head.kind));
  return evaluate(term, facts.op());
}
Verdict TermLook::look(const protocol::SeriesTerm&, const RecordGlance&) {
  return Verdict::unknown;
}

Verdict TermLook::look(const protocol::NameTerm&, const RecordGlance&) {
  return Verdict::unknown;
}

bool TermLook::op(const TextTerm& term, const RecordHead& head) {
  if (!looks_at(term, FilterPart::op)) return false;
  if (!head.op)
    return names_.of(head.name(), [&] { return term.finds(FilterPart::op, name_of(head.name())); });
  if (head.op == last_op_) return last_op_verdict_;
  const auto [known, is_new] = ops_.try_emplace(head.op, false);
  if (is_new) known->second = term.finds(FilterPart::op, head.op->name);
  last_op_ = head.op;
  return last_op_verdict_ = known->second;
}

bool TermLook::kind(const TextTerm& term, const RecordHead& head) {
  if (!looks_at(term, FilterPart::kind)) return false;
  const auto key =
      static_cast<std::uint32_t>(static_cast<int>(head.kind) * 4 + head.custom_gradient * 2 + head.backward);
  return kinds_.of(key, [&] {
    return term.finds(FilterPart::kind,
                      protocol::kind_text(record_kind(head.kind), head.custom_gradient, head.backward));
  });
}

bool TermLook::scope(const TextTerm& term, std::uint32_t number) {
  return looks_at(term, FilterPart::scope) &&
         scopes_.of(number, [&] { return term.finds(FilterPart::scope, scope_text(number)); });
}

bool TermLook::call(const TextTerm& term, const RecordHead& head) {
  if (!looks_at(term, FilterPart::call)) return false;
  const std::uint32_t number = head.call();
  return number != 0 && calls_.of(number, [&] {
    return term.finds(FilterPart::call, protocol::on_one_line(call_of(number).text));
  });
}

bool TermLook::location(const TextTerm& term, const RecordGlance& record) {
  const std::uint32_t number = record.head.location;
  if (looks_at(term, FilterPart::file) &&
      locations_.of(number, [&] { return term.finds(FilterPart::file, location_of(number).file); }))
    return true;
  return looks_at(term, FilterPart::cell) && cell(term, number).of(record.number);
}

const TermLook::CellVerdicts& TermLook::cell(const TextTerm& term, std::uint32_t location) {
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

bool TermLook::dtypes(const TextTerm& term, std::span<const std::uint64_t> tensors) {
  if (!looks_at(term, FilterPart::dtype)) return false;
  return std::any_of(tensors.begin(), tensors.end(), [&](std::uint64_t id) {
    const std::uint32_t spec = spec_number(id);
    return spec != 0 &&
           specs_.of(spec, [&] { return term.finds(FilterPart::dtype, dtype_name(spec_of(spec).dtype)); });
  });
}

bool TermLook::named(const TextTerm& term, FilterPart role, std::span<const std::uint64_t> tensors) {
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

double TermLook::number(protocol::Number number, const RecordGlance& record) {
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

std::uint32_t TermLook::spec_number(std::uint64_t id) const {
  return id == 0 ? 0 : recorder_.trace().tensors().get(id).spec();
}

}  // namespace tapedeck::debug
