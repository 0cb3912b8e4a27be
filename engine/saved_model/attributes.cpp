#include "engine/saved_model/attributes.h"

#include <cmath>
#include <limits>

namespace tapedeck::saved_model {
namespace {

struct AttributeJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(double number) const {
    if (std::isfinite(number)) return number;
    return {{"real", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"}};
  }
  Json operator()(DType dtype) const { return {{"dtype", dtype_name(dtype)}}; }
  template <class T>
  Json operator()(const T& plain) const {
    return plain;
  }
};

/// An integer stays one: a range of integers has no floating dtype.
Attribute real_of(const Json& json, const std::string& place) {
  if (json.is_number_integer()) return integer_of(json, INT64_MIN, INT64_MAX, place);
  if (json.is_number()) return json.get<double>();
  const std::string name = text_of(member(json, "real", place), place);
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (name != "inf" && name != "-inf") fail_at(place, "there is no number '" + name + "'");
  return name == "inf" ? HUGE_VAL : -HUGE_VAL;
}

std::vector<std::int64_t> integers_of(const Json& json, const std::string& place) {
  if (!json.is_array()) fail_at(place, "is not a list of integers");
  std::vector<std::int64_t> numbers;
  for (const Json& one : json) numbers.push_back(integer_of(one, INT64_MIN, INT64_MAX, place));
  return numbers;
}

}  // namespace

Json attribute_json(const Attribute& attribute) {
  return std::visit(AttributeJson(), attribute);
}

Attribute read_attribute(const Json& json, const AttributeSpec& spec, const std::string& place) {
  if (json.is_null()) {
    if (spec.required || !std::holds_alternative<std::monostate>(spec.fallback))
      fail_at(place, "has null where a value belongs");
    return {};
  }
  switch (spec.kind) {
    case AttributeKind::boolean:
      return flag_of(json, place);
    case AttributeKind::integer:
      return integer_of(json, INT64_MIN, INT64_MAX, place);
    case AttributeKind::real:
      return real_of(json, place);
    case AttributeKind::text:
      return text_of(json, place);
    case AttributeKind::dtype:
      return dtype_of_name(member(json, "dtype", place), place);
    case AttributeKind::integers:
      if (json.is_number()) return integer_of(json, INT64_MIN, INT64_MAX, place);  // one for all axes
      return integers_of(json, place);
    case AttributeKind::shape:
      return integers_of(json, place);
  }
  fail_at(place, "has a kind of value that this release does not know");
}

}  // namespace tapedeck::saved_model
