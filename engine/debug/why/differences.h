// Central differences in float64: what a gradient should be, beside what a VJP gave. Small inputs: element by
// element. Large ones: along random directions, and where these differ, by halves down to the element; and
// the largest elements of the gradient.
#pragma once

#include <chrono>
#include <functional>
#include <random>

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// float64 inputs to outputs.
using ForwardFunction = std::function<Tensors(std::span<const Tensor>)>;

/// An element, what the VJP says there, and what differences say.
struct Look {
  std::int64_t place = -1;
  double given = 0, found = 0;
  double error = -1;       ///< relative; infinite where the VJP alone gives no number; -1: not to be compared
  bool unweighed = false;  ///< the element moves only results whose cotangent is 0
};

/// A gradient beside differences.
struct Compared {
  Look worst;  ///< place -1: nothing could be compared
  std::vector<Look> looks;
  std::size_t kinks = 0, not_comparable = 0;
  bool all = false;  ///< every element was compared; else some, and sums along random directions
};

/// How long one input's elements may take, about; and what to report meanwhile.
struct CompareAim {
  std::chrono::milliseconds time{600};
  std::uint64_t done = 0, total = 1;
};

/// Of one VJP: the forward function, the point and the weights of its results.
class Differences {
 public:
  Differences(Past& past, ForwardFunction f, Tensors point, const Tensors& cotangents, CompareAim aim);

  /// The gradient with respect to the inputs `slots`, which are one tensor. Throws Cancelled, and what the
  /// function throws.
  Compared compare(const std::vector<std::size_t>& slots, std::vector<double> gradient, double tolerance);

 private:
  using Outputs = std::vector<std::vector<double>>;

  void look_at(std::int64_t place);
  Outputs outputs_at(const std::vector<double>& values);
  double weighed(const Outputs& above, const Outputs& below) const;
  bool moves_weighed(const Outputs& above, const Outputs& below) const;
  std::vector<std::int64_t> places();
  Look at_element(std::int64_t place);
  bool is_kink(const Outputs& above, const Outputs& below, double step);
  double relative(double given, double found) const;
  double gap(const std::vector<double>& direction, double& size);
  void along_directions(double tolerance);
  std::int64_t halve(const std::vector<double>& direction);

  Past& past_;
  const ForwardFunction f_;
  Tensors point_;
  const CompareAim aim_;
  std::vector<std::vector<double>> weights_;
  bool cotangents_are_finite_ = true;
  std::vector<double> values_, given_;
  std::vector<std::size_t> slots_;
  Compared compared_;
  double typical_ = 0, scale_ = 1;
  std::mt19937_64 random_{20180403};
};

/// The number that all of the given elements are multiplied with, where it is one and not 1: the error as a
/// factor.
std::optional<double> common_factor(const Compared& compared, double tolerance);

}  // namespace tapedeck::debug
