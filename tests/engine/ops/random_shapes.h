// Calls of ops with random shapes: those of the test rows with every extent redrawn, leading axes added, and
// operands reduced to shapes that broadcast.
#pragma once

#include <map>

#include "engine/ops/elementwise/complex.h"
#include "tests/engine/ops/rows/all_rows.h"

namespace tapedeck::testing {

class ShapeChanger {
 public:
  ShapeChanger(const Row& row, Random& random) : row_(row), random_(random) {}

  /// Like `call`, one of the row's, with other shapes. The op decides whether they are compatible: most are,
  /// because equal extents stay equal. Values lie between those of `call`, so they stay in the op's domain.
  Call change(const Call& call) {
    extents_.clear();
    Call changed{{}, call.attributes, {}};
    for (Attribute& attribute : changed.attributes) change(attribute);
    const Shape front = below(3) == 0 ? any_front() : Shape{};
    const bool broadcasts = call.inputs.size() > 1 && below(2) == 0;
    for (const Tensor& input : call.inputs) {
      Shape shape = front;
      for (const std::int64_t extent : input.shape()) shape.push_back(changed_extent(extent));
      if (broadcasts) shape = cut_down(shape);
      const bool made = row_.first_input && changed.inputs.empty() && shape.rank() >= 2;
      changed.inputs.push_back(made ? row_.first_input(random_, shape) : filled(input, shape));
    }
    return changed;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  std::int64_t any_extent() { return 1 + static_cast<std::int64_t>(below(4)); }

  Shape any_front() {
    Shape front{any_extent()};
    if (below(3) == 0) front.push_back(any_extent());
    return front;
  }

  /// Equal extents become equal ones.
  std::int64_t changed_extent(std::int64_t extent) {
    const auto [found, fresh] = extents_.try_emplace(extent, extent);
    if (fresh && extent != 0 && below(4) != 0) found->second = any_extent();
    return found->second;
  }

  /// Lists may hold extents, numbers may count axes or parts; otherwise they stay the same.
  void change(Attribute& attribute) {
    auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
    if (list && below(2) == 0)
      for (std::int64_t& value : *list)
        if (value > 0) value = changed_extent(value);
    auto* number = std::get_if<std::int64_t>(&attribute);
    if (number && below(3) == 0) *number = static_cast<std::int64_t>(below(8)) - 2;
  }

  /// A shape that broadcasts to `shape`.
  Shape cut_down(const Shape& shape) {
    Shape cut;
    for (int axis = static_cast<int>(below(static_cast<std::size_t>(shape.rank()) + 1)); axis < shape.rank();
         ++axis)
      cut.push_back(below(3) == 0 ? 1 : shape[axis]);
    return below(2) == 0 ? cut : shape;
  }

  /// Real numbers between two of the pattern's that have the same sign; whole numbers and bools from the
  /// pattern.
  Tensor filled(const Tensor& pattern, const Shape& shape) {
    if (is_complex(pattern.dtype())) {
      Shape pairs = shape;
      pairs.push_back(2);
      return ops::from_pairs(filled(ops::pairs_view(pattern.make_contiguous()), pairs));
    }
    Tensor tensor = Tensor::allocate(pattern.dtype(), shape);
    std::vector<double> values = pattern.to_vector();
    if (values.empty()) values = {0.5, 1};
    visit_dtype(pattern.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        double value = values[below(values.size())];
        const double other = values[below(values.size())];
        const double part = std::uniform_real_distribution<double>()(random_);
        if (std::is_floating_point_v<T>) {
          if (value == 0) value = part - 0.5;
          // Two that are equal have no gradient of their maximum.
          if (value == other)
            value *= 1 - part / 5;
          else if ((value > 0) == (other > 0))
            value += (other - value) * part;
        }
        tensor.writable_data<T>()[i] = static_cast<T>(value);
      }
    });
    return tensor;
  }

  const Row& row_;
  Random& random_;
  std::map<std::int64_t, std::int64_t> extents_;
};

}  // namespace tapedeck::testing
