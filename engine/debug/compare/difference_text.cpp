#include "engine/debug/compare/difference_text.h"

#include <cmath>

#include "engine/debug/describe.h"
#include "engine/debug/why/elements.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

using protocol::RowKind;

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string value_at_place(const Tensor& tensor, std::int64_t place) {
  if (has_partial_support(tensor.dtype())) return {};
  return element_text(tensor, place);
}

}  // namespace

std::string DifferenceText::place(const Side& side, std::uint32_t number, std::uint32_t record) const {
  const SourceLocation location = location_of(number);
  std::string text;
  if (!location.cell.empty())
    text = protocol::label_of(location.cell, side.recorder->cell_runs().execution_of(location.cell, record),
                              labels_);
  else if (!location.file.empty())
    text = location.file.substr(location.file.rfind('/') + 1);
  if (location.line) text += (text.empty() ? "line " : " line ") + std::to_string(location.line);
  return text;
}

std::string DifferenceText::op(const Side& side, std::uint32_t number) const {
  std::string text = "op " + grouped(number);
  RecordView record;
  if (!side.recorder->trace().read(number, record)) return text;
  text += ", " + std::string(record.head.kind == EventKind::vjp ? "the VJP of " : "") + record.name();
  if (const std::string where = place(side, record.head.location, number); !where.empty())
    text += ", " + where;
  return text;
}

std::string DifferenceText::op(const Comparison::Row& row) const {
  if (row.left == 0) return op(comparison_.right(), row.right) + ", on the right only";
  std::string text = op(comparison_.left(), row.left);
  if (row.right == 0) return text + ", on the left only";
  if (row.right != row.left) text += " (on the right op " + grouped(row.right) + ")";
  return text;
}

std::string DifferenceText::name(std::uint64_t left, std::uint64_t right) const {
  for (const auto& [side, id] :
       {std::pair(&comparison_.left(), left), std::pair(&comparison_.right(), right)})
    if (const std::uint32_t number = side->recorder->values().name(id)) return name_of(number);
  return {};
}

std::string DifferenceText::set_at(const Side& side, std::uint64_t tensor) const {
  const auto assignment = side.recorder->data_flow().assignment_of(tensor);
  // An assignment before a run's first op is of that run, whose first record is the next one.
  const std::string where =
      assignment ? place(side, assignment->location, assignment->after + 1) : std::string();
  return where.empty() ? where : ", set in " + where + ",";
}

std::string DifferenceText::amount(const Tensor& left, const Tensor& right,
                                   const ValueDifference& difference) {
  if (!difference.comparable) {
    const auto form = [](const Tensor& tensor) {
      return std::string(dtype_name(tensor.dtype())) + " " + to_string(tensor.shape());
    };
    return "is " + form(left) + " on the left and " + form(right) + " on the right";
  }
  if (difference.count == 1) {
    const std::string before = preview(left), after = preview(right);
    if (before != after) return "is " + before + " on the left and " + after + " on the right";
  }
  std::string text = "differ";
  text += difference.count == 1
              ? "s"
              : "s in " + grouped(difference.differing) + " of " + counted(difference.count, "element");
  const std::string at = index_text(left.shape(), difference.place);
  if (left.dtype() == DType::string) return text + (at.empty() ? "" : ", the first of them at " + at);
  text += std::isfinite(difference.max_absolute) ? ", by up to " + short_number(difference.max_absolute)
                                                 : ", most where one of them is not finite";
  if (!at.empty()) text += " at " + at;
  if (std::isfinite(difference.max_relative))
    text += " (relative: up to " + short_number(difference.max_relative) + ")";
  const std::string l = value_at_place(left, difference.place), r = value_at_place(right, difference.place);
  if (!l.empty() && l != r) text += ": " + l + " and " + r;
  return text;
}

std::vector<std::string> DifferenceText::attributes(const Comparison::Row& row) const {
  RecordView left, right;
  std::vector<std::string> texts;
  if (row.left == 0 || row.right == 0 || !comparison_.left().recorder->trace().read(row.left, left) ||
      !comparison_.right().recorder->trace().read(row.right, right) || !left.head.op ||
      left.head.op != right.head.op || left.head.kind == EventKind::vjp)
    return texts;
  const std::size_t count =
      std::min({left.head.attributes.size(), right.head.attributes.size(), left.head.op->attributes.size()});
  for (std::size_t i = 0; i < count; ++i)
    if (left.head.attributes[i] != right.head.attributes[i])
      texts.push_back(left.head.op->attributes[i].name + ": " + to_string(left.head.attributes[i]) + " | " +
                      to_string(right.head.attributes[i]));
  return texts;
}

std::string DifferenceText::one_sided_before(std::size_t end) const {
  std::uint64_t count = 0;
  std::size_t first = 0;
  const auto& rows = comparison_.rows();
  for (std::size_t i = 0; i < std::min(end, rows.size()); ++i)
    if ((rows[i].kind == RowKind::only_left || rows[i].kind == RowKind::only_right) && count++ == 0)
      first = i;
  if (count == 0) return {};
  return counted(count, "op") + (count == 1 ? " is" : " are") + " on one side only" +
         (count == 1 ? ": " : ", the first is ") + op(rows[first]) + ".";
}

std::string DifferenceText::unwritten(const Comparison::Row& row) const {
  for (const bool right : {false, true}) {
    const std::uint32_t record = right ? row.right : row.left;
    const UninitialisedRead* const read = record ? comparison_.unwritten(right).read_by(record) : nullptr;
    if (!read) continue;
    const Side& side = right ? comparison_.right() : comparison_.left();
    const bool never = read->contents == Contents::never;
    return std::string("it reads memory that was ") + (never ? "never written (" : "written only in part (") +
           op(side, read->made) + "), " + (never ? "which" : "the rest of which") +
           " holds something else in each run";
  }
  return {};
}

std::string DifferenceText::tolerance(const protocol::FindFirstDifference& request) {
  if (request.relative == 0 && request.absolute == 0) return {};
  return " by more than the tolerance (relative " + short_number(request.relative) + ", absolute " +
         short_number(request.absolute) + ")";
}

}  // namespace tapedeck::debug
