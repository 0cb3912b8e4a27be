// The equation of an Einstein sum: "ij,jk->ik".
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck::ops {

/// A letter, or first_ellipsis_axis + the number of an axis of `...`, counted from its last one.
using Label = int;
using Labels = std::vector<Label>;
inline constexpr Label first_ellipsis_axis = 256;

inline bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// A parsed equation, with a label for each axis of `...`, and the extent of every label.
struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  std::map<Label, std::int64_t> extents;
};

/// Reads an equation and checks it against the inputs' shapes. Throws InvalidArgumentError that quotes it.
Equation parse_equation(const std::string& equation, std::span<const Tensor> inputs);
Equation parse_equation(const std::string& equation, std::span<const Shape> inputs);

}  // namespace tapedeck::ops
