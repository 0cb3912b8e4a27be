// Random calls of ops, valid and invalid: those of the test rows with something changed, and generated ones.
#pragma once

#include <limits>

#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"
#include "tests/engine/ops/rows/all_rows.h"

namespace tapedeck::testing {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
/// As an extent, more memory than any machine has. There is nothing between it and the small numbers, because
/// a size that just fits would only cost time.
constexpr std::int64_t absurd = std::int64_t{1} << 45;

class CallMaker {
 public:
  explicit CallMaker(Random& random) : random_(random) {}

  /// A call of the op for which `row` has valid ones.
  Call make(const OpDef& op, const Row& row) {
    if (below(5) == 0) return made_up(op);
    Call call = row.calls[below(row.calls.size())](random_);
    for (std::size_t changes = below(3); changes > 0; --changes) change(op, call);
    return call;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }

  std::int64_t any_integer() {
    if (below(4) != 0) return static_cast<std::int64_t>(below(8)) - 3;
    return one_of<std::int64_t>({absurd, -absurd, largest, smallest, largest - 1, smallest + 1, 100, -100});
  }
  double any_real() {
    const double infinity = std::numeric_limits<double>::infinity();
    return one_of<double>({0, -0.0, 1, -1, 0.5, -3, 7, 1e300, -1e300, 5e-324, 0x1p45, 0x1p63, infinity,
                           -infinity, std::numeric_limits<double>::quiet_NaN()});
  }
  DType any_dtype() { return static_cast<DType>(below(dtype_count)); }

  Attribute any_attribute(const AttributeSpec& spec) {
    if (!spec.required && below(4) == 0) return spec.fallback;
    switch (spec.kind) {
      case AttributeKind::boolean:
        return below(2) == 0;
      case AttributeKind::integer:
        return any_integer();
      case AttributeKind::real:
        if (below(6) == 0) return below(2) == 0;
        return below(2) == 0 ? Attribute(any_integer()) : Attribute(any_real());
      case AttributeKind::text:
        return std::string(one_of<const char*>({"", "NHWC", "NCHW", "left", "right", "CONSTANT", "REFLECT",
                                                "SYMMETRIC", "SAME", "VALID", "nonsense"}));
      case AttributeKind::dtype:
        return any_dtype();
      case AttributeKind::integers:
        if (below(4) == 0) return any_integer();
        break;
      case AttributeKind::shape:
        break;
    }
    std::vector<std::int64_t> values(below(8) == 0 ? below(12) : below(5));
    for (std::int64_t& value : values) value = any_integer();
    return values;
  }

  Tensor any_tensor() {
    Shape shape;
    for (std::size_t axes = below(10) == 0 ? 6 : below(4); axes > 0; --axes)
      shape.push_back(one_of<std::int64_t>({0, 1, 1, 2, 2, 3, 4}));
    return filled(any_dtype(), shape);
  }

  Tensor filled(DType dtype, const Shape& shape) {
    if (is_narrow(dtype)) return narrowed(filled(compute_dtype(dtype), shape), dtype);
    if (dtype == DType::string) return any_strings(shape);
    if (is_complex(dtype)) return any_complex(dtype, shape);
    if (dtype == DType::uint64) {
      const Tensor bits = filled(DType::int64, shape);
      return Tensor::view(bits.storage(), dtype, shape, bits.strides(), 0);
    }
    Tensor tensor = Tensor::allocate(dtype, shape);
    const bool small = below(2) == 0;  // indices that may be right
    visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        T& value = tensor.writable_data<T>()[i];
        if constexpr (std::is_same_v<T, bool>)
          value = below(2) == 0;
        else if constexpr (std::is_floating_point_v<T>)
          value = static_cast<T>(small ? static_cast<double>(below(5)) - 2 : any_real());
        else
          value = small ? static_cast<T>(below(3)) : static_cast<T>(any_integer());
      }
    });
    return tensor;
  }

  Tensor any_strings(const Shape& shape) {
    std::vector<std::string> values;
    for (std::int64_t i = element_count(shape); i > 0; --i)
      values.push_back(
          one_of<const char*>({"", "a", "1", "-2.5", " two words ", "d\xc3\xa9j\xc3\xa0", "\xff"}));
    return string_tensor(shape, values);
  }

  Tensor any_complex(DType dtype, const Shape& shape) {
    Shape pairs = shape;
    pairs.push_back(2);
    const Tensor parts = filled(real_dtype(dtype), pairs);
    return Tensor::view(parts.storage(), dtype, shape, contiguous_strides(shape), 0);
  }

  /// Another view, another dtype, other values, or another tensor.
  Tensor changed(const Tensor& tensor) {
    if (tensor.count() > 10'000) return any_tensor();
    switch (below(6)) {
      case 0:
        return filled(any_dtype(), tensor.shape());
      case 1:
        return ops::transpose(tensor);
      case 2: {
        Shape wider = tensor.shape();
        if (wider.rank() == max_rank) return tensor;
        wider.push_back(one_of<std::int64_t>({1, 2}));
        return ops::broadcast_to(ops::expand_dims(tensor, -1), wider);
      }
      case 3:  // a view of more elements than memory holds
        if (tensor.count() == 0 || tensor.rank() == max_rank) return tensor;
        return broadcast_in_front(tensor, one_of<std::int64_t>({absurd, std::int64_t{1} << 58}));
      case 4:
        return filled(tensor.dtype(), tensor.shape());
      default:
        return any_tensor();
    }
  }

  Tensor broadcast_in_front(const Tensor& tensor, std::int64_t extent) {
    if (tensor.count() > 8) return tensor;  // the product stays below 2^63
    Shape shape{extent};
    for (const std::int64_t own : tensor.shape()) shape.push_back(own);
    return ops::broadcast_to(tensor, shape);
  }

  void change(const OpDef& op, Call& call) {
    const std::size_t attributes = std::min(op.attributes.size(), call.attributes.size());
    const std::size_t parts = call.inputs.size() + attributes;
    if (parts == 0) return;
    const std::size_t part = below(parts);
    if (part >= call.inputs.size()) {
      const std::size_t at = part - call.inputs.size();
      auto* list = std::get_if<std::vector<std::int64_t>>(&call.attributes[at]);
      if (list && !list->empty() && below(2) == 0)
        (*list)[below(list->size())] = any_integer();
      else
        call.attributes[at] = any_attribute(op.attributes[at]);
    } else if (!op.inputs.empty() && op.inputs.back().variadic && below(8) == 0) {
      call.inputs.erase(call.inputs.begin() + static_cast<std::ptrdiff_t>(part));
    } else {
      call.inputs[part] = changed(call.inputs[part]);
    }
  }

  Call made_up(const OpDef& op) {
    Call call;
    for (const InputSpec& input : op.inputs)
      for (std::size_t count = input.variadic ? below(4) : 1; count > 0; --count)
        call.inputs.push_back(any_tensor());
    for (const AttributeSpec& attribute : op.attributes) call.attributes.push_back(any_attribute(attribute));
    return call;
  }

  Random& random_;
};

/// "gather(float64 (2, 3), int64 (2,); axis 1)"
inline std::string description(const OpDef& op, const Call& call) {
  std::string text = op.name + "(";
  for (const Tensor& input : call.inputs)
    text += std::string(dtype_name(input.dtype())) + " " + to_string(input.shape()) + ", ";
  for (std::size_t i = 0; i < call.attributes.size(); ++i)
    text += op.attributes[i].name + " " + to_string(call.attributes[i]) + ", ";
  return text + ")";
}

}  // namespace tapedeck::testing
