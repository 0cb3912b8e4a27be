#include "engine/debug/compare/layouts.h"

#include <algorithm>
#include <numeric>

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_orders = 120;
constexpr std::int64_t sampled_elements = 64;

Tensor with_axes(const Tensor& tensor, const std::vector<int>& axes) {
  std::vector<std::int64_t> extents, strides;
  for (const int axis : axes) {
    extents.push_back(tensor.dim(axis));
    strides.push_back(tensor.strides()[axis]);
  }
  return Tensor::view(tensor.storage(), tensor.dtype(), Shape(std::span<const std::int64_t>(extents)),
                      Strides(std::span<const std::int64_t>(strides)), tensor.offset());
}

Tensor as_shape(const Tensor& tensor, const Shape& shape) {
  const Tensor plain = tensor.make_contiguous();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()));
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return Tensor::view(plain.storage(), plain.dtype(), shape, Strides(std::span<const std::int64_t>(strides)),
                      plain.offset());
}

/// The orders of the left tensor's axes that give the right one's shape: the one that it has first, then
/// those that move whole groups (NCHW and NHWC, a matrix's transpose), then the others.
std::vector<std::vector<int>> fitting_orders(const Shape& left, const Shape& right) {
  std::vector<std::vector<int>> orders;
  if (left.rank() != right.rank()) return orders;
  std::vector<int> axes(static_cast<std::size_t>(left.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  constexpr int most_permuted = 6;
  const auto fits = [&](const std::vector<int>& order) {
    for (std::size_t i = 0; i < order.size(); ++i)
      if (left[order[i]] != right[static_cast<int>(i)]) return false;
    return true;
  };
  if (left.rank() > most_permuted) {
    if (fits(axes)) orders.push_back(axes);
    return orders;
  }
  do {
    // Axes of extent 1 may lie in any order: one of them is enough.
    bool plain = true;
    for (std::size_t i = 1; plain && i < axes.size(); ++i)
      for (std::size_t k = 0; plain && k < i; ++k)
        plain = !(left[axes[i]] == 1 && left[axes[k]] == 1 && axes[k] > axes[i]);
    if (plain && fits(axes)) orders.push_back(axes);
  } while (orders.size() < most_orders && std::ranges::next_permutation(axes).found);
  return orders;
}

/// A few elements of both, spread evenly; whether they agree, and how far they are apart.
ValueDifference sample_of(const Tensor& left, const Tensor& right, const Tolerance& tolerance) {
  const std::int64_t count = left.count(), step = std::max<std::int64_t>(1, count / sampled_elements | 1);
  const Tensor l = Tensor::allocate(DType::float64, {(count + step - 1) / step}, Device{}),
               r = Tensor::allocate(DType::float64, l.shape(), Device{});
  const auto take = [&](const Tensor& from, double* to) {
    for (std::int64_t place = 0, at = 0; place < count; place += step, ++at) {
      std::int64_t rest = place, offset = from.offset();
      for (int axis = from.rank() - 1; axis >= 0; --axis) {
        offset += rest % from.dim(axis) * from.strides()[axis];
        rest /= from.dim(axis);
      }
      to[at] = Tensor::view(from.storage(), from.dtype(), {}, {}, offset).item();
    }
  };
  take(left, l.writable_data<double>());
  take(right, r.writable_data<double>());
  return compare_values(l, r, tolerance);
}

/// Of several orders the one whose sample agrees best; equal ones: the first.
std::size_t best_order(const Tensor& left, const Tensor& right, const std::vector<std::vector<int>>& orders,
                       const Tolerance& tolerance, std::vector<bool>& agreeing) {
  std::size_t best = 0;
  std::uint64_t least = UINT64_MAX;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const std::uint64_t differing = sample_of(with_axes(left, orders[i]), right, tolerance).differing;
    agreeing.push_back(differing == 0);
    if (differing >= least) continue;
    least = differing;
    best = i;
  }
  return best;
}

bool as_they_are(const std::vector<int>& axes) {
  return std::ranges::is_sorted(axes);
}

}  // namespace

std::string LayoutMatch::text() const {
  if (reshaped) return "as one row of elements";
  if (axes.empty()) return {};
  std::string text = "after transposing the axes ";
  for (std::size_t i = 0; i < axes.size(); ++i) text += (i ? ", " : "") + std::to_string(axes[i]);
  return text;
}

std::vector<std::int64_t> unordered_extents(const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (const std::int64_t extent : shape)
    if (extent != 1) extents.push_back(extent);
  std::ranges::sort(extents, std::greater());
  return extents;
}

LaidOutDifference compare_layouts(const Tensor& left, const Tensor& right, const Tolerance& tolerance,
                                  EqualShapes equal_shapes, const CancelFlag* cancel) {
  const auto under = [&](const Tensor& laid, LayoutMatch layout) {
    return LaidOutDifference{
        compare_values(laid, right, tolerance, cancel), std::move(layout), laid.shape(), laid, {}};
  };
  if (left.shape() == right.shape()) {
    LaidOutDifference found = under(left, {});
    if (!found.values.differs() || left.dtype() == DType::string || left.rank() < 2) return found;
  } else if (left.dtype() == DType::string || right.dtype() == DType::string ||
             left.count() != right.count()) {
    return under(left, {});
  }
  const Tensor l = left.on_host(), r = right.on_host();
  const auto orders = fitting_orders(l.shape(), r.shape());
  if (orders.empty()) {
    const Tensor laid = as_shape(l, r.shape());
    LaidOutDifference found = under(laid, {{}, true});
    return found;
  }
  std::vector<bool> agreeing;
  const std::size_t best = best_order(l, r, orders, tolerance, agreeing);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (!agreeing[i]) continue;
    LaidOutDifference found = under(with_axes(l, orders[i]), {orders[i], false});
    if (as_they_are(orders[i])) found.layout.axes.clear();
    if (found.values.differs()) continue;
    if (left.shape() != right.shape() || equal_shapes == EqualShapes::any_axes) return found;
    LaidOutDifference turned = under(left, {});
    turned.agreeing = found.layout;
    return turned;
  }
  // None agrees: what has the same shape is taken to have the same axes.
  if (left.shape() == right.shape()) return under(left, {});
  return under(with_axes(l, orders[best]), {orders[best], false});
}

}  // namespace tapedeck::debug
