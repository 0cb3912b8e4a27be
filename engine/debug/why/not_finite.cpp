#include "engine/debug/why/not_finite.h"

#include <algorithm>
#include <limits>

#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {
namespace {

bool is_kind(double value, NotFinite kind) {
  return kind == NotFinite::nan ? std::isnan(value) : std::isinf(value);
}

std::string largest_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return "1.8e308";
    case DType::float16:
      return "65504";
    default:
      return "3.4e38";
  }
}

}  // namespace

const char* kind_text(NotFinite kind) {
  return kind == NotFinite::nan ? "NaN" : "infinity";
}

std::optional<std::int64_t> first_of(const Tensor& tensor, NotFinite kind, const ReadPlaces& places) {
  if (!tensor || !is_floating(tensor.dtype())) return std::nullopt;
  if (places) {
    for (const std::int64_t place : *places)
      if (is_kind(element(tensor, place), kind)) return place;
    return std::nullopt;
  }
  std::optional<std::int64_t> found;
  visit_elements(tensor, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count && !found; ++i)
      if (is_kind(static_cast<double>(values[i]), kind)) found = i;
  });
  return found;
}

std::uint64_t count_not_finite(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return 0;
  std::uint64_t found = 0;
  visit_elements(tensor, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      if (!std::isfinite(static_cast<double>(values[i]))) ++found;
  });
  return found;
}

Places farthest_from_zero(const Tensor& tensor, const ReadPlaces& places, std::int64_t count) {
  const std::vector<double> values = tensor.to_vector();
  Places all;
  if (places)
    all = *places;
  else
    for (std::int64_t i = 0; i < tensor.count(); ++i) all.push_back(i);
  const auto size_of = [&](std::int64_t place) {
    const double value = std::abs(values[static_cast<std::size_t>(place)]);
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  const auto end = all.begin() + std::min<std::ptrdiff_t>(count, std::ssize(all));
  std::partial_sort(all.begin(), end, all.end(),
                    [&](std::int64_t a, std::int64_t b) { return size_of(a) > size_of(b); });
  all.erase(end, all.end());
  return all;
}

std::string fact_text(const char* text, const OpDef& op, DType dtype) {
  std::string told = text;
  const auto put = [&](const char* mark, std::string_view with) {
    if (const std::size_t at = told.find(mark); at != std::string::npos) told.replace(at, 3, with);
  };
  put("{o}", short_name(op));
  put("{d}", dtype_name(dtype));
  return told;
}

std::string what_happened(const OpDef& op, const std::vector<double>& x, NotFinite kind, DType dtype) {
  if (op.facts.outside && !x.empty() && (op.inputs.size() != 2 || x.size() == 2))
    if (const char* why = op.facts.outside(x[0], x.size() == 2 ? x[1] : 0)) return fact_text(why, op, dtype);
  if (kind == NotFinite::nan &&
      std::any_of(x.begin(), x.end(), [](double value) { return std::isinf(value); }))
    return op.facts.of_infinities;
  if (kind == NotFinite::infinite)
    return "the result is larger than " + largest_of(dtype) + ", the largest " +
           std::string(dtype_name(dtype));
  return {};
}

const char* why_products_are_nan(const Tensor& a, const Places& of_a, const Tensor& b, const Places& of_b) {
  for (std::size_t k = 0; k < std::min(of_a.size(), of_b.size()); ++k) {
    const double x = element(a, of_a[k]), y = element(b, of_b[k]);
    if ((x == 0 && std::isinf(y)) || (y == 0 && std::isinf(x))) return "0 · ∞ is undefined";
  }
  return "∞ − ∞ is undefined";  // what came in, or what became too large on the way
}

/// ", alpha=-1": the numbers of another framework's call that the element depends on, too.
std::string arguments_text(const RecordView& record) {
  const OpDef& op = *record.head.op;
  if (!is_foreign(op)) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(op.attributes.size(), record.head.attributes.size()); ++i) {
    const Attribute& value = record.head.attributes[i];
    const bool is_number =
        std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
    if (is_number && value != op.attributes[i].fallback)
      text += ", " + op.attributes[i].name + "=" + to_string(value);
  }
  return text;
}

std::string call_text(const RecordView& record, std::span<const Tensor> inputs,
                      const std::vector<ReadPlaces>& places) {
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!places[k] || places[k]->size() != 1) return {};
    texts.push_back(element_text(inputs[k], places[k]->front()));
  }
  const std::string arguments = arguments_text(record);
  if (const char* infix = record.head.op->facts.infix; infix && texts.size() == 2 && arguments.empty())
    return texts[0] + infix + texts[1];
  std::string text = short_name(*record.head.op) + "(";
  for (std::size_t k = 0; k < texts.size(); ++k) text += (k ? ", " : "") + texts[k];
  return text + arguments + ")";
}

}  // namespace tapedeck::debug
