#include "engine/ops/rules.h"

#include <algorithm>

namespace tapedeck::rules {
namespace {

const std::string& input_name(const OpContext& c, std::size_t input) {
  return c.op.inputs[std::min(input, c.op.inputs.size() - 1)].name;
}

}  // namespace

std::string describe(const OpContext& c, std::size_t input) {
  return input_name(c, input) + " " + std::string(dtype_name(c.inputs[input].dtype())) + " " +
         to_string(c.inputs[input].shape());
}

void same_dtype(const OpContext& c) {
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const char group = c.op.inputs[std::min(i, c.op.inputs.size() - 1)].group;
    if (group == '\0') continue;
    for (std::size_t j = 0; j < i; ++j)
      if (c.op.inputs[std::min(j, c.op.inputs.size() - 1)].group == group &&
          c.inputs[i].dtype() != c.inputs[j].dtype())
        fail<TypeMismatchError>(c.op.name, ": ", describe(c, j), " and ", describe(c, i),
                                " differ in dtype; cast one of them");
  }
}

void require(const OpContext& c, std::size_t input, bool ok, const char* allowed) {
  if (!ok)
    fail<TypeMismatchError>(c.op.name, ": ", input_name(c, input), " is ", dtype_name(c.inputs[input].dtype()),
                            "; it takes ", allowed);
}

int axis(const OpContext& c, std::int64_t value, int rank, const char* attribute) {
  if (value < -rank || value >= rank)
    fail<InvalidArgumentError>(c.op.name, ": ", attribute, " ", value, " is out of range for ", rank,
                               rank == 1 ? " axis" : " axes");
  return static_cast<int>(value < 0 ? value + rank : value);
}

std::vector<int> axes(const OpContext& c, const Attribute& attribute, int rank) {
  std::vector<int> result;
  if (std::holds_alternative<std::monostate>(attribute)) {
    for (int i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (const std::int64_t value : std::get<std::vector<std::int64_t>>(attribute))
    result.push_back(axis(c, value, rank));
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end())
    fail<InvalidArgumentError>(c.op.name, ": axis ", *twice, " is given twice in ", to_string(attribute));
  return result;
}

cpu::Operand broadcast(const Tensor& x, const Shape& shape) {
  Strides strides;
  strides.resize(shape.rank());
  const int missing = shape.rank() - x.rank();
  for (int i = 0; i < x.rank(); ++i)
    strides[missing + i] = x.dim(i) == 1 && shape[missing + i] != 1 ? 0 : x.strides()[i];
  return {x.raw(), strides};
}

Shape shape_attribute(const OpContext& c, const Attribute& attribute, const char* name) {
  const auto& extents = std::get<std::vector<std::int64_t>>(attribute);
  for (const std::int64_t extent : extents)
    if (extent < 0)
      fail<InvalidArgumentError>(c.op.name, ": ", name, " ", to_string(attribute), " has a negative extent");
  return Shape(std::span<const std::int64_t>(extents));
}

}  // namespace tapedeck::rules
