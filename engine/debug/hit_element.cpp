#include "engine/debug/hit_element.h"

#include <algorithm>
#include <array>

#include "engine/debug/tile.h"
#include "engine/debug/value_look.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/values/summary.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::debug {

using protocol::FilterPart;
using protocol::Verdict;
using protocol::verdict_of;

namespace {

protocol::Comparison comparison_of(const std::string& sign) {
  static constexpr std::array signs{"<", "<=", "==", "!=", ">=", ">"};
  for (std::size_t i = 0; i < signs.size(); ++i)
    if (sign == signs[i]) return static_cast<protocol::Comparison>(i);
  throw BadRequest("find_hit: \"" + sign + "\" is not a comparison; there are <, <=, ==, !=, >= and >.");
}

bool element_holds(double value, protocol::Comparison comparison, double other) {
  const bool same =
      protocol::quantity_text(value) == protocol::quantity_text(other);  // as values are shown, to six digits
  if (comparison == protocol::Comparison::equal) return same;
  if (comparison == protocol::Comparison::not_equal) return !same;
  return protocol::compare(value, comparison, other);
}

double element_value(const Tensor& tensor, std::int64_t place) {
  const Tensor values = in_kernel_dtype(tensor.on_host());
  double value = 0;
  visit_dtype(values.dtype(),
              [&]<class T>(TypeTag<T>) { value = static_cast<double>(values.data<T>()[place]); });
  return value;
}

}  // namespace

AssignmentLook::AssignmentLook(const Recorder& recorder, const Assignment& assignment,
                               const std::vector<protocol::CellLabel>& labels)
    : recorder_(recorder),
      assignment_(assignment),
      labels_(labels),
      name_(name_of(recorder.values().name(assignment.leaf))) {}

Verdict AssignmentLook::operator()(const protocol::Condition& leaf) const {
  return std::visit([this](const auto& term) { return look(term); }, leaf.term);
}

Verdict AssignmentLook::look(const protocol::TextTerm& term) const {
  if (term.part == FilterPart::is)
    return verdict_of(protocol::is_state(term, false, protocol::RecordState::done));
  if (!name_.empty() && (term.finds(FilterPart::writes, name_) || term.finds(FilterPart::name, name_)))
    return Verdict::yes;
  const SourceLocation where = location_of(assignment_.location);
  const std::string cell =
      where.cell.empty()
          ? std::string()
          : protocol::label_of(where.cell, recorder_.cell_runs().execution_of(where.cell, assignment_.after),
                               labels_);
  return verdict_of(term.finds(FilterPart::cell, cell) || term.finds(FilterPart::file, where.file));
}

Verdict AssignmentLook::look(protocol::Flag flag) const {
  return verdict_of(protocol::has_flag(flag, protocol::RecordKind::op, false, protocol::RecordState::done));
}

Verdict AssignmentLook::look(const protocol::ShapeTerm& term) const {
  const std::uint32_t spec = recorder_.trace().tensors().get(assignment_.leaf).spec();
  if (spec == 0) return Verdict::no;
  const Shape shape = spec_of(spec).shape;
  return verdict_of(term.fits({shape.begin(), shape.end()}));
}

Verdict AssignmentLook::look(const protocol::NumberTerm& term) const {
  switch (term.number) {
    case protocol::Number::record:
      return verdict_of(term.holds(assignment_.after));
    case protocol::Number::line:
      return verdict_of(term.holds(location_of(assignment_.location).line));
    case protocol::Number::bytes: {
      const std::uint32_t spec = recorder_.trace().tensors().get(assignment_.leaf).spec();
      if (spec == 0) return Verdict::no;
      const RecordedSpec known = spec_of(spec);
      return verdict_of(term.holds(static_cast<double>(element_count(known.shape)) *
                                   static_cast<double>(item_size(known.dtype))));
    }
    case protocol::Number::duration:
    case protocol::Number::thread:
    case protocol::Number::depth:
      break;
  }
  return Verdict::unknown;  // an assignment has none of these
}

Verdict AssignmentLook::look(const protocol::ValueTerm& term) const {
  const std::array<std::uint64_t, 1> value{assignment_.leaf};
  RecordFacts facts({}, value, recorder_, false);
  return evaluate(term, facts.op());
}

HitElement::HitElement(const Recorder& recorder, const FindTensor& find,
                       const std::optional<protocol::ElementTest>& test)
    : recorder_(recorder), find_(find), test_(test) {
  if (test) comparison_ = comparison_of(test->comparison);
}

Verdict HitElement::verdict(std::uint64_t tensor) {
  value_.reset();
  const std::uint32_t number = tensor == 0 ? 0 : recorder_.trace().tensors().get(tensor).spec();
  if (number == 0) return Verdict::no;
  const RecordedSpec spec = spec_of(number);
  const std::span<const std::int64_t> shape = spec.shape.span();
  if (spec.dtype == DType::string || shape.size() != test_->element.size()) return Verdict::no;
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < test_->element.size(); ++axis) {
    const std::int64_t index = test_->element[axis];
    if (index < 0 || index >= shape[axis]) return Verdict::no;
    place = place * shape[axis] + index;
  }
  try {
    value_ = element_value(find_(tensor), place);
  } catch (const ValueError&) {
    return Verdict::unknown;
  }
  return verdict_of(element_holds(*value_, comparison_, test_->value));
}

}  // namespace tapedeck::debug
