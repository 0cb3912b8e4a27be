#include "engine/record/replay/adjust.h"

#include <cmath>
#include <optional>
#include <sstream>

#include "engine/ops/core/ops.h"

namespace tapedeck {
namespace {

constexpr double exact_in_float64 = 9007199254740992;  // 2^53: whole numbers up to it

Tensor number_in(double value, DType dtype) {
  return ops::cast(Tensor::scalar(value, DType::float64), dtype);
}

bool dtype_has(DType dtype, double value) {
  return ops::cast(number_in(value, dtype), DType::float64).item() == value;
}

/// Integers by an integer, in their own dtype; undefined if the dtype cannot represent the amount.
std::optional<Tensor> adjusted_whole(const Tensor& tensor, Instead what, double asked) {
  // Clipping integers to ±2.5 and to ±2 is the same.
  const double amount = what == Instead::clip ? std::floor(asked) : asked;
  const DType dtype = tensor.dtype();
  if (!is_integer(dtype) || std::trunc(amount) != amount || std::abs(amount) > exact_in_float64 ||
      !dtype_has(dtype, amount))
    return std::nullopt;
  const Tensor number = number_in(amount, dtype);
  if (what == Instead::scale) return ops::multiply(tensor, number);
  if (what == Instead::add) return ops::add(tensor, number);
  const Tensor low = dtype_has(dtype, -amount) ? ops::maximum(tensor, number_in(-amount, dtype))
                                               : tensor;  // unsigned: none is negative
  return ops::minimum(low, number);
}

Tensor adjusted_wide(const Tensor& wide, Instead what, const Tensor& amount) {
  if (what == Instead::scale) return ops::multiply(wide, amount);
  if (what == Instead::add) return ops::add(wide, amount);
  return ops::minimum(ops::maximum(wide, ops::negative(amount)), amount);
}

}  // namespace

Tensor adjusted(const Tensor& tensor, Instead what, double amount, const RecordView& record,
                const std::string& subject) {
  const auto refuse = [&](const std::string& cannot) {
    throw BranchError(record.number, true,
                      "Op " + std::to_string(record.number) + " (" + record.name() + ") cannot be " + cannot);
  };
  const DType dtype = tensor.dtype();
  if (dtype == DType::string) refuse("changed like that: " + subject + " has strings, not numbers.");
  const bool complex = is_complex(dtype), whole = is_integer(dtype) || dtype == DType::bool_;
  if (what == Instead::set) {
    if (whole && !dtype_has(dtype, amount)) {
      std::ostringstream text;
      text << "set to " << amount << ": " << subject << " is of " << dtype_name(dtype) << ".";
      refuse(text.str());
    }
    return ops::cast(ops::add(ops::zeros(tensor.shape(), DType::float64), number_in(amount, DType::float64)),
                     dtype);
  }
  if (complex && what == Instead::clip)
    refuse("clipped: " + subject + " is complex, and complex numbers have no order.");
  if (std::optional<Tensor> made = adjusted_whole(tensor, what, amount)) return *made;
  const DType wide_dtype = complex ? DType::complex128 : DType::float64;
  const Tensor wide = ops::cast(tensor, wide_dtype);
  if (is_integer(dtype) && tensor.count() > 0 && ops::reduce_max(ops::abs(wide)).item() > exact_in_float64)
    refuse("scaled by a number that is not whole: " + subject +
           " has whole numbers beyond 2^53, which float64 would round.");
  return ops::cast(adjusted_wide(wide, what, number_in(amount, wide_dtype)), dtype);
}

}  // namespace tapedeck
