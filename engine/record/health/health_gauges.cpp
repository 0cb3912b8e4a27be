#include "engine/record/health/health_gauges.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/record/values/device_values.h"
#include "engine/record/values/summary.h"

namespace tapedeck {
namespace {

constexpr std::int64_t most_rank_side = 64, most_rank_length = 2048, most_outputs = 32768, least_rows = 4;

/// Row-major, as float32 or float64.
Tensor gauge_values(const Tensor& tensor) {
  const Tensor values = in_kernel_dtype(tensor);
  if (values.dtype() == DType::float32 || values.dtype() == DType::float64) return values;
  return Tensor::from_values<double>(values.to_vector(), values.shape());
}

template <class F>
auto visit_floats(const Tensor& values, F&& f) {
  return values.dtype() == DType::float32 ? f(values.data<float>()) : f(values.data<double>());
}

double scalar_value(DType dtype, const std::array<std::byte, 8>& bytes) {
  double value = 0;
  float narrow = 0;
  if (dtype == DType::float64)
    std::memcpy(&value, bytes.data(), sizeof(value));
  else
    std::memcpy(&narrow, bytes.data(), sizeof(narrow));
  return dtype == DType::float64 ? value : static_cast<double>(narrow);
}

/// The kernel's sum; computed more slowly if it exceeds the dtype's range.
template <class Kernel, class Slow>
double sum_or(DType dtype, Kernel&& kernel, Slow&& slow) {
  alignas(8) std::array<std::byte, 8> bytes{};
  kernel(bytes.data());
  const double sum = scalar_value(dtype, bytes);
  return std::isfinite(sum) ? sum : slow();
}

std::uint64_t count_not_finite(const Tensor& values) {
  return visit_floats(values, [&](const auto* x) {
    std::uint64_t count = 0;
    for (std::int64_t i = 0; i < values.count(); ++i) count += !std::isfinite(x[i]);
    return count;
  });
}

/// Index `i` of `count` evenly chosen ones of `all`.
std::int64_t spread_place(std::int64_t i, std::int64_t count, std::int64_t all) {
  return count == all ? i : i * all / count;
}

template <class T>
double dead_share(const T* x, std::int64_t rows, std::int64_t units, std::int64_t inner) {
  std::vector<std::int64_t> silent(static_cast<std::size_t>(units));
  for (std::int64_t unit = 0; unit < units; ++unit) silent[static_cast<std::size_t>(unit)] = unit;
  for (std::int64_t row = 0; row < rows && !silent.empty(); ++row) {
    const T* at = x + row / inner * units * inner + row % inner;
    std::size_t left = 0;
    for (const std::int64_t unit : silent)
      if (at[unit * inner] == T(0)) silent[left++] = unit;
    silent.resize(left);
  }
  return static_cast<double>(silent.size()) / static_cast<double>(units);
}

template <class T>
bool is_saturated(Activation activation, T value) {
  switch (activation) {
    case Activation::relu6:
      return value >= T(6);
    case Activation::elu:
      return value < T(-0.99);
    case Activation::selu:
      return value < T(-0.99 * 1.0507009873554805 * 1.6732632423543772);
    case Activation::sigmoid:
      return value < T(0.01) || value > T(0.99);
    case Activation::tanh:
      return value < T(-0.99) || value > T(0.99);
    default:
      return false;
  }
}

template <class T>
double saturated_share(Activation activation, const T* x, std::int64_t count) {
  const std::int64_t looked_at = std::min(count, most_outputs);
  std::int64_t saturated = 0;
  for (std::int64_t i = 0; i < looked_at; ++i)
    saturated += is_saturated(activation, x[spread_place(i, looked_at, count)]);
  return static_cast<double>(saturated) / static_cast<double>(looked_at);
}

template <class T>
double certain_share(const T* x, std::int64_t rows, std::int64_t classes) {
  const std::int64_t looked_at =
      std::clamp<std::int64_t>(most_outputs / std::max<std::int64_t>(classes, 1), 1, rows);
  std::int64_t certain = 0;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const T* row = x + spread_place(i, looked_at, rows) * classes;
    certain += *std::max_element(row, row + classes) > T(0.999);
  }
  return static_cast<double>(certain) / static_cast<double>(looked_at);
}

/// Needed for every op while Health is open, so it is a table by the registry's index.
std::uint8_t gradient_place_of(const OpDef& op) {
  static const std::vector<std::uint8_t> known = [] {
    const Registry& registry = Registry::instance();
    std::vector<std::uint8_t> all(registry.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const OpDef& each = registry.at(static_cast<int>(i));
      if (each.inputs.empty() || each.inputs[0].name != "value") continue;
      for (std::size_t k = 1; k < each.inputs.size(); ++k)
        if (each.inputs[k].name == "gradient") all[i] = static_cast<std::uint8_t>(k);
    }
    return all;
  }();
  const auto index = static_cast<std::size_t>(op.index);
  return op.index >= 0 && index < known.size() ? known[index] : std::uint8_t{0};
}

/// Rows and columns of a tensor of higher rank, viewed as a matrix.
std::pair<std::int64_t, std::int64_t> matrix_sides(const Shape& shape) {
  if (shape.rank() < 2) return {0, 0};
  const std::int64_t columns = shape[shape.rank() - 1];
  return {columns == 0 ? 0 : element_count(shape) / columns, columns};
}

/// For values on a GPU, computed there, over the finite ones.
NormGauge norm_there(const Tensor& tensor) {
  const Summary summary = summarize(tensor, 0, false);
  if (summary.finite == 0) return {0, summary.count};
  return {std::sqrt(static_cast<double>(summary.finite)) * std::hypot(summary.mean, summary.deviation),
          summary.count - summary.finite};
}

}  // namespace

NormGauge norm_gauge(const Tensor& tensor) {
  if (tensor.count() == 0 || !is_floating(tensor.dtype())) return {};
  if (is_inspected_there(tensor)) return norm_there(tensor);
  const Tensor values = gauge_values(tensor);
  NormGauge gauge;
  const double sum = sum_or(
      values.dtype(),
      [&](void* out) { cpu::dot(values.dtype(), values.raw(), values.raw(), values.count(), out); },
      [&] {
        gauge.not_finite = count_not_finite(values);
        return visit_floats(values, [&](const auto* x) {
          double squares = 0;
          for (std::int64_t i = 0; i < values.count(); ++i)
            if (std::isfinite(x[i])) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
          return squares;
        });
      });
  gauge.norm = std::sqrt(sum);
  return gauge;
}

double update_gauge(const Tensor& before, const Tensor& now) {
  if (now.count() == 0 || before.shape() != now.shape() || !is_floating(now.dtype())) return 0;
  if (is_inspected_there(now) && before.device() == now.device() && before.dtype() == now.dtype()) {
    const double change = norm_there(change_there(before, now)).norm, norm = norm_there(now).norm;
    return change == 0 ? 0 : change / (norm > 0 ? norm : norm_there(before).norm);
  }
  const Tensor from = gauge_values(before), to = gauge_values(now);
  const double squares = sum_or(
      to.dtype(),
      [&](void* out) { cpu::squared_distance(to.dtype(), from.raw(), to.raw(), to.count(), out); },
      [&] {
        return visit_floats(to, [&]<class T>(const T* y) {
          const T* x = from.data<T>();
          double sum = 0;
          for (std::int64_t i = 0; i < to.count(); ++i) {
            const double change = static_cast<double>(y[i]) - static_cast<double>(x[i]);
            if (std::isfinite(change)) sum += change * change;
          }
          return sum;
        });
      });
  if (squares == 0) return 0;
  const double norm = norm_gauge(to).norm;
  return std::sqrt(squares) / (norm > 0 ? norm : norm_gauge(from).norm);
}

double most_rank(const Shape& shape) {
  const auto [rows, columns] = matrix_sides(shape);
  return static_cast<double>(std::min({rows, columns, most_rank_side}));
}

std::optional<double> rank_gauge(const Tensor& gradient) {
  if (!is_floating(gradient.dtype()) || gradient.rank() < 2 || gradient.count() == 0) return std::nullopt;
  const Tensor values = gauge_values(gradient);
  const auto sides = matrix_sides(values.shape());
  const std::int64_t rows = sides.first, columns = sides.second;
  if (std::min(rows, columns) < 2) return std::nullopt;
  const bool wide = rows <= columns;
  const std::int64_t side = std::min(most_rank_side, wide ? rows : columns);
  const std::int64_t length = std::min(most_rank_length, wide ? columns : rows);
  Eigen::MatrixXd matrix(length, side);
  visit_floats(values, [&](const auto* x) {
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t short_place = spread_place(i, side, wide ? rows : columns);
        const std::int64_t long_place = spread_place(k, length, wide ? columns : rows);
        matrix(k, i) = static_cast<double>(wide ? x[short_place * columns + long_place]
                                                : x[long_place * columns + short_place]);
      }
    return 0;
  });
  const double scale = matrix.cwiseAbs().maxCoeff();
  if (!(scale > 0) || !matrix.allFinite()) return std::nullopt;
  matrix /= scale;
  const Eigen::MatrixXd gram = matrix.transpose() * matrix;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram, Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) return std::nullopt;
  // The rounding error of a zero is not a direction.
  const double floor = solver.eigenvalues().maxCoeff() * 1e-14 * static_cast<double>(side);
  std::vector<double> singular;
  double total = 0;
  for (const double eigenvalue : solver.eigenvalues())
    if (eigenvalue > floor) total += singular.emplace_back(std::sqrt(eigenvalue));
  double entropy = 0;
  for (const double value : singular) entropy -= value / total * std::log(value / total);
  return std::exp(entropy);
}

std::size_t update_gradient_place(const OpDef& op) {
  return gradient_place_of(op);
}

ActivationGauge activation_gauge(Activation activation, const Tensor& output, int unit_axis) {
  ActivationGauge gauge;
  if (activation == Activation::none || output.count() == 0 || output.rank() == 0) return gauge;
  const Tensor values = gauge_values(output);
  if (!cpu::loops().statistics[static_cast<int>(values.dtype())].finite(values.raw(), values.count()))
    gauge.not_finite = count_not_finite(values);
  const std::int64_t last = values.dim(values.rank() - 1);
  const std::int64_t units = values.dim(unit_axis < 0 ? values.rank() - 1 : unit_axis);
  const std::int64_t rows = values.count() / units;
  std::int64_t inner = 1;  // numbers of a unit beside each other
  for (int axis = values.rank() - 1; unit_axis >= 0 && axis > unit_axis; --axis) inner *= values.dim(axis);
  visit_floats(values, [&](const auto* x) {
    const bool rectifies = activation == Activation::rectifier || activation == Activation::relu6;
    if (rectifies && values.rank() > 1 && rows >= least_rows) gauge.dead = dead_share(x, rows, units, inner);
    if (activation == Activation::softmax)
      gauge.saturated = certain_share(x, values.count() / last, last);
    else if (activation != Activation::rectifier)
      gauge.saturated = saturated_share(activation, x, values.count());
    return 0;
  });
  return gauge;
}

}  // namespace tapedeck
