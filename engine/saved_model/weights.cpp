#include "engine/saved_model/weights.h"

#include <algorithm>

#include "engine/data/data_error.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/tensor/error.h"
#include "engine/tensor/strings.h"

namespace tapedeck::saved_model {
namespace {

constexpr char digits[] = "0123456789abcdef";

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string bytes_of(const std::string& text, const std::string& place) {
  if (text.size() % 2 != 0 || text.find_first_not_of(digits) != std::string::npos)
    fail_at(place, "'" + text.substr(0, 40) + "' is not a text in hexadecimal digits");
  const std::string_view values = digits;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(values.find(text[i]) * 16 + values.find(text[i + 1]));
  return bytes;
}

Shape shape_of(const Json& value, const std::string& place) {
  if (!value.is_array() || value.size() > static_cast<std::size_t>(max_rank))
    fail_at(place, "a shape is a list of up to " + std::to_string(max_rank) + " extents");
  Shape shape;
  for (const Json& extent : value) shape.push_back(integer_of(extent, 0, INT64_MAX, place));
  return shape;
}

Tensor strings_at(const Json& value, const std::string& place) {
  const Shape shape = shape_of(member(value, "shape", place), place);
  std::vector<std::string> texts;
  for (const Json& one : list_at(value, "bytes", place))
    texts.push_back(bytes_of(text_of(one, place), place));
  if (element_count(shape) != static_cast<std::int64_t>(texts.size()))
    fail_at(place, "has " + std::to_string(texts.size()) + " strings for a shape of " +
                       std::to_string(element_count(shape)));
  return string_tensor(shape, texts);
}

}  // namespace

void fail_at(const std::string& place, const std::string& what) {
  fail<data::DataLossError>(place, ": ", what);
}

const Json* find_member(const Json& object, const char* name, const std::string& place) {
  if (!object.is_object()) fail_at(place, "is not an object");
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const Json& member(const Json& object, const char* name, const std::string& place) {
  const Json* const found = find_member(object, name, place);
  if (!found) fail_at(place, std::string("has no '") + name + "'");
  return *found;
}

const Json& list_at(const Json& object, const char* name, const std::string& place) {
  const Json& found = member(object, name, place);
  if (!found.is_array()) fail_at(place, std::string("'") + name + "' is not a list");
  return found;
}

std::string text_of(const Json& value, const std::string& place) {
  if (!value.is_string()) fail_at(place, "has " + std::string(value.type_name()) + " where a text belongs");
  return value.get<std::string>();
}

bool flag_of(const Json& value, const std::string& place) {
  if (!value.is_boolean())
    fail_at(place, "has " + std::string(value.type_name()) + " where true or false belongs");
  return value.get<bool>();
}

std::int64_t integer_of(const Json& value, std::int64_t least, std::int64_t most, const std::string& place) {
  const bool is_whole = value.is_number_integer() && !(value.is_number_unsigned() &&
                                                       value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  if (!is_whole) fail_at(place, "has " + std::string(value.type_name()) + " where an integer belongs");
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most)
    fail_at(place, std::to_string(number) + " lies outside of " + std::to_string(least) + " to " +
                       std::to_string(most));
  return number;
}

DType dtype_of_name(const Json& value, const std::string& place) {
  const std::string name = text_of(value, place);
  const std::optional<DType> found = dtype_from_name(name);
  if (!found) fail_at(place, "there is no dtype '" + name + "'");
  return *found;
}

Json WeightsToWrite::add(const std::string& name, const Tensor& tensor) {
  const auto [known, is_new] = known_.try_emplace(tensor.id());
  if (!is_new) return known->second;
  Json& entry = known->second;
  if (tensor.dtype() == DType::string) {
    entry = {{"dtype", "string"}, {"shape", Json::array()}, {"bytes", Json::array()}};
    for (const std::int64_t extent : tensor.shape().span()) entry["shape"].push_back(extent);
    for (const std::string_view text : strings_of(tensor)) entry["bytes"].push_back(hexadecimal(text));
    return entry;
  }
  entry["tensor"] = name;
  if (data::safetensors_name(tensor.dtype())) {
    tensors_.push_back({name, tensor});
    return entry;
  }
  entry["as"] = dtype_name(tensor.dtype());  // complex128
  tensors_.push_back({name, ops::stack(std::array{ops::real(tensor), ops::imag(tensor)}, -1)});
  return entry;
}

Tensor WeightsToRead::read(const Json& value, const std::string& place) const {
  if (find_member(value, "bytes", place)) return strings_at(value, place);
  const std::string name = text_of(member(value, "tensor", place), place);
  if (!file_.find(name)) fail_at(place, "the weights have no tensor '" + name + "'");
  const Tensor stored = file_.read(name);
  const Json* const as = find_member(value, "as", place);
  if (!as) return stored;
  if (text_of(*as, place) != dtype_name(DType::complex128) || stored.dtype() != DType::float64 ||
      stored.rank() == 0 || stored.dim(stored.rank() - 1) != 2)
    fail_at(place, "'" + name + "' has no complex128 numbers");
  const Tensors parts = ops::unstack(stored, -1);
  return ops::complex(parts[0], parts[1]);
}

}  // namespace tapedeck::saved_model
