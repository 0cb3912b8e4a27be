#include "engine/debug/why/not_finite.h"

#include <algorithm>
#include <limits>

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
  return kind == NotFinite::nan ? "NaN" : "Inf";
}

std::optional<std::int64_t> first_of(const Tensor& tensor, NotFinite kind, const ReadPlaces& places) {
  if (!is_floating(tensor.dtype())) return std::nullopt;
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

std::string what_happened(const std::string& op, const std::vector<double>& x, NotFinite kind, DType dtype) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return op == name; });
  };
  const double a = x.empty() ? 1 : x[0], b = x.size() < 2 ? 1 : x[1];
  const bool two = x.size() == 2;
  if (is({"divide", "divide_no_nan", "xdivy"}) && two && b == 0)
    return a == 0 ? "0 divided by 0 has no value" : "a number divided by 0 is infinite";
  if (is({"log", "log_softmax"}) && a == 0) return "the logarithm of 0 is minus infinity";
  if (is({"log", "sqrt", "rsqrt", "log1p"}) && a < 0) return "of a negative number there is no real " + op;
  if (is({"reciprocal", "rsqrt"}) && a == 0) return "1 divided by 0 is infinite";
  if (is({"pow"}) && two && a < 0) return "a negative number has no real power that is no whole number";
  if (is({"pow"}) && two && a == 0 && b < 0) return "0 to a negative power is infinite";
  if (is({"acos", "asin", "atanh", "erfinv"}) && std::abs(a) > 1) return op + " takes numbers from -1 to 1";
  if (kind == NotFinite::nan &&
      std::any_of(x.begin(), x.end(), [](double value) { return std::isinf(value); })) {
    if (is({"subtract", "add"})) return "infinity minus infinity has no value";
    if (is({"multiply", "matmul"})) return "0 times infinity has no value";
    if (is({"divide"})) return "infinity divided by infinity has no value";
    return "infinity came in, and what is asked of it has no value";
  }
  if (kind == NotFinite::infinite)
    return "the result is larger than " + largest_of(dtype) + ", the largest " +
           std::string(dtype_name(dtype));
  return {};
}

std::string call_text(const RecordView& record, std::span<const Tensor> inputs,
                      const std::vector<ReadPlaces>& places) {
  static constexpr std::pair<const char*, const char*> signs[] = {
      {"add", " + "}, {"subtract", " - "}, {"multiply", " · "}, {"divide", " / "}};
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!places[k] || places[k]->size() != 1) return {};
    texts.push_back(element_text(inputs[k], places[k]->front()));
  }
  for (const auto& [name, sign] : signs)
    if (record.head.op->name == name && texts.size() == 2) return texts[0] + sign + texts[1];
  std::string text = record.head.op->name + "(";
  for (std::size_t k = 0; k < texts.size(); ++k) text += (k ? ", " : "") + texts[k];
  return text + ")";
}

}  // namespace tapedeck::debug
