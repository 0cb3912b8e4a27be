// Comparing results of one op on two devices: the form in which they must agree, and the tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/ops/core/ops.h"
#include "engine/ops/linear_algebra/linear_algebra.h"
#include "tests/cuda/emulated.h"
#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

/// The tolerance relative to the largest value of the result, in units of the dtype's last place. Ops that
/// are not listed are bit-identical, except for CUDA's own functions.
inline double bound_of(const std::string& op) {
  // Products are summed in a different order; CUDA's functions differ from std::'s.
  constexpr double products = 16, functions = 8, decompositions = 64;
  static const std::map<std::string, double> bounds = {
      {"matmul", products},
      {"einsum", products},
      {"conv2d", products},
      {"conv2d_backprop_input", products},
      {"conv2d_backprop_filter", products},
      {"depthwise_conv2d_native", products},
      {"depthwise_conv2d_native_backprop_input", products},
      {"depthwise_conv2d_native_backprop_filter", products},
      {"attention", products},
      {"attention_gradient", products},
      {"lstm", products},
      {"lstm_gradient", products},
      {"gru", products},
      {"gru_gradient", products},
      {"simple_rnn", products},
      {"simple_rnn_gradient", products},
      {"batch_norm", products},
      {"batch_norm_grad", products},
      {"layer_norm", products},
      {"layer_norm_grad", products},
      {"cumulative_logsumexp", functions},
      {"log_softmax", functions},
      {"reduce_logsumexp", functions},
      {"digamma", functions},
      {"cholesky", decompositions},
      {"lu", decompositions},
      {"matrix_inverse", decompositions},
      {"matrix_solve", decompositions},
      {"matrix_triangular_solve", decompositions},
      {"matrix_determinant", decompositions},
      {"log_matrix_determinant", decompositions},
      {"pinv", decompositions},
      {"qr", decompositions},
      {"svd", decompositions},
      {"self_adjoint_eig", decompositions},
      {"self_adjoint_eigvals", decompositions},
  };
  const double of_cuda = gpus_are_real() ? 16 : last_places_of_emulation();
  if (op.starts_with("bessel_")) return gpus_are_real() ? 1e5 : 64;
  const auto found = bounds.find(op);
  return found == bounds.end() ? of_cuda : std::max(of_cuda, found->second);
}

inline bool is_decomposition(const std::string& op) {
  return bound_of(op) == bound_of("svd");
}

/// Gradients run many ops, some of whose results nearly cancel.
constexpr double most_gradient_distance = 1e3;

inline double last_place(DType dtype) {
  return dtype == DType::float64    ? 0x1p-52
         : dtype == DType::float32  ? 0x1p-23
         : dtype == DType::float16  ? 0x1p-10
         : dtype == DType::bfloat16 ? 0x1p-7
                                    : 0;
}

inline double largest_in(const Tensors& tensors) {
  double largest = 0;
  for (const Tensor& tensor : tensors)
    if (tensor)
      for (const double value : tensor.to_vector())
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

/// The largest distance in units of the last place of the largest value, or of `largest`; infinite if one is
/// NaN or infinite and the other differs.
inline double distance(const Tensor& expected, const Tensor& actual, double largest) {
  const std::vector<double> a = expected.to_vector(), b = actual.to_vector();
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
      continue;
    }
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  if (difference == 0) return 0;
  if (largest == 0) largest = difference;
  const double unit = last_place(expected.dtype());
  return unit == 0 ? std::numeric_limits<double>::infinity() : difference / (unit * largest);
}

/// "element i of n: A on the GPU, B on the CPU": of those that differ, the first that is NaN or infinite on
/// only one device, else the one with the largest distance.
inline std::string element_that_differs(const Tensor& expected, const Tensor& actual) {
  const std::vector<double> on_cpu = expected.to_vector(), on_gpu = actual.to_vector();
  std::size_t found = 0;
  double furthest = -1;
  for (std::size_t i = 0; i < on_cpu.size(); ++i) {
    if (on_cpu[i] == on_gpu[i] || (std::isnan(on_cpu[i]) && std::isnan(on_gpu[i]))) continue;
    const bool odd = !std::isfinite(on_cpu[i]) || !std::isfinite(on_gpu[i]);
    const double far = odd ? std::numeric_limits<double>::infinity() : std::abs(on_cpu[i] - on_gpu[i]);
    if (far > furthest) furthest = far, found = i;
  }
  char text[160];
  std::snprintf(text, sizeof text, "element %zu of %zu: %.17g on the GPU, %.17g on the CPU", found,
                on_cpu.size(), on_gpu[found], on_cpu[found]);
  return text;
}

/// A view of a few values can have more elements than any memory; a copy cannot.
constexpr std::int64_t most_values = std::int64_t{1} << 23;

/// What differs by more than `bound`, or empty; `worst` is set to the largest distance. `largest`: as
/// distance().
inline std::string compared(const Tensors& expected, const Tensors& actual, double bound, double& worst,
                            double largest = 0) {
  if (expected.size() != actual.size()) return "another number of results";
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const std::string which = "result " + std::to_string(k);
    if (bool(expected[k]) != bool(actual[k])) return which + " is there on one device alone";
    if (!expected[k]) continue;
    if (expected[k].dtype() != actual[k].dtype())
      return which + " is " + std::string(dtype_name(actual[k].dtype())) + " on the GPU, " +
             std::string(dtype_name(expected[k].dtype())) + " on the CPU";
    if (expected[k].shape() != actual[k].shape())
      return which + " has shape " + to_string(actual[k].shape()) + " on the GPU, " +
             to_string(expected[k].shape()) + " on the CPU";
    if (expected[k].dtype() == DType::string || expected[k].count() > most_values) continue;
    const double far = distance(expected[k], actual[k], largest);
    worst = std::max(worst, far);
    if (!(far <= bound))
      return which + " (" + std::string(dtype_name(expected[k].dtype())) + " " +
             to_string(expected[k].shape()) + ") lies " + std::to_string(far) +
             " last places off: " + element_that_differs(expected[k], actual[k].on_host());
  }
  return {};
}

/// Whether each value is distinct from the others, and from 0 if `singular`.
inline bool stand_apart(const Tensor& values, bool singular) {
  const std::int64_t n = values.dim(values.rank() - 1);
  const std::vector<double> all = ops::cast(values, DType::float64).to_vector();
  for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(n)) {
    std::vector<double> of_one(all.begin() + static_cast<std::ptrdiff_t>(first),
                               all.begin() + static_cast<std::ptrdiff_t>(first) + n);
    std::sort(of_one.begin(), of_one.end());
    const double least = 1e-3 * std::max(std::abs(of_one.front()), std::abs(of_one.back()));
    if (singular && !(of_one.front() > least)) return false;
    for (std::size_t i = 1; i < of_one.size(); ++i)
      if (!(of_one[i] - of_one[i - 1] > least)) return false;
  }
  return true;
}

/// For nearly dependent columns q is not unique: then compares the product.
inline Tensors comparable_qr(const Tensors& results) {
  const Tensor q = ops::cast(results[0].on_host(), DType::float64);
  const Tensor r = ops::cast(results[1].on_host(), DType::float64);
  const std::vector<double> sizes = ops::abs(ops::matrix_diag_part(r)).to_vector();
  const double least = *std::min_element(sizes.begin(), sizes.end());
  if (least > 1e-3 * *std::max_element(sizes.begin(), sizes.end())) return results;
  const DType dtype = results[0].dtype();
  return {ops::cast(ops::matmul(q, r), dtype), ops::cast(ops::matmul(q, q, true), dtype)};
}

/// For a matrix with non-finite elements, or whose elimination overflowed, the pivots are arbitrary.
inline Tensors comparable_lu(const Tensors& results) {
  const Tensor packed = results[0].on_host(), order = results[1].on_host();
  const std::int64_t n = packed.dim(packed.rank() - 1), count = n == 0 ? 0 : packed.count() / (n * n);
  std::vector<double> values = packed.to_vector(), places = order.to_vector();
  for (std::int64_t matrix = 0; matrix < count; ++matrix) {
    const auto first = values.begin() + matrix * n * n;
    if (std::all_of(first, first + n * n, [](double value) { return std::isfinite(value); })) continue;
    std::fill_n(first, n * n, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(places.begin() + matrix * n, n, 0.0);
  }
  return {ops::cast(Tensor::from_values<double>(values, packed.shape()), packed.dtype()),
          ops::cast(Tensor::from_values<double>(places, order.shape()), order.dtype())};
}

/// Vectors of equal values, and those that complete a basis, are not unique: for these, compares the product
/// with the values, and checks orthonormality.
inline Tensors comparable(const std::string& op, const Tensors& results) {
  if (op == "qr" && results[1].count() > 0) return comparable_qr(results);
  if (op == "lu") return comparable_lu(results);
  const bool eigen = op == "self_adjoint_eig", singular = op == "svd" && results.size() == 3;
  if ((!eigen && !singular) || results[0].count() == 0) return results;
  Tensors on_host;
  for (const Tensor& result : results) on_host.push_back(result.on_host());
  const auto columns = [&](std::size_t i) { return on_host[i].dim(on_host[i].rank() - 1); };
  const auto rows = [&](std::size_t i) { return on_host[i].dim(on_host[i].rank() - 2); };
  const bool completed = singular && std::max(columns(1), columns(2)) > columns(0) + 1;
  if (!completed && stand_apart(on_host[0], singular)) return on_host;
  const auto wide = [&](std::size_t i) { return ops::cast(on_host[i], DType::float64); };
  const auto product = [&](const Tensor& a, const Tensor& b, bool first, bool second) {
    return ops::cast(ops::matmul(a, b, first, second), on_host[0].dtype());
  };
  const std::size_t right = on_host.size() - 1;
  const auto first_columns = [&](std::size_t i) {
    ops::Integers begin(static_cast<std::size_t>(on_host[i].rank()), 0), size(begin.size(), -1);
    size.back() = std::min(columns(0), rows(i));
    return ops::slice(wide(i), begin, size);
  };
  Tensors all{on_host[0],
              product(first_columns(1) * ops::expand_dims(wide(0), -2), first_columns(right), false, true)};
  for (std::size_t i = 1; i <= right; ++i) all.push_back(product(wide(i), wide(i), true, false));
  return all;
}

}  // namespace tapedeck::testing
