// Helpers for test rows of ops that make, move and pick elements.
#pragma once

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

using Index = std::vector<std::int64_t>;
using Integers = ops::Integers;

/// A call with one random input, and the expected shape.
inline MakeCall call_with(const Shape& input, std::vector<Attribute> attributes, const Shape& expected) {
  return [=](Random& random) { return Call{{random_tensor(random, input)}, attributes, expected}; };
}

/// Results keep the row-major order of the input.
inline Row reshaping_test(const std::string& op, std::vector<MakeCall> calls) {
  return {op, std::move(calls),
          [](const Call& call) {
            Array out(call.expected);
            out.values = call.inputs[0].to_vector();
            return Arrays{out};
          },
          0};
}

/// The result's element at `index` is the input's at `source(call, index)`.
inline Row moving_test(const std::string& op, std::vector<MakeCall> calls,
                       std::function<Index(const Call&, const Index&)> source) {
  return {op, std::move(calls),
          [source](const Call& call) {
            const Array x(call.inputs[0]);
            Array out(call.expected);
            for_each_index(out.shape, [&](const Index& index) { out(index) = x(source(call, index)); });
            return Arrays{out};
          },
          0};
}

/// The result's element at `index` is `value(call, index)`.
inline Row making_test(const std::string& op, std::vector<MakeCall> calls,
                       std::function<double(const Call&, const Index&)> value) {
  return {op, std::move(calls),
          [value](const Call& call) {
            Array out(call.expected);
            for_each_index(out.shape, [&](const Index& index) { out(index) = value(call, index); });
            return Arrays{out};
          },
          0};
}

inline MakeCall made_call(std::vector<Attribute> attributes, const Shape& expected) {
  return [=](Random&) { return Call{{}, attributes, expected}; };
}

inline Attribute attribute_list(const Shape& shape) {
  return Integers(shape.begin(), shape.end());
}

inline const Integers& list_of(const Call& call, std::size_t attribute) {
  return std::get<Integers>(call.attributes[attribute]);
}

}  // namespace tapedeck::testing
