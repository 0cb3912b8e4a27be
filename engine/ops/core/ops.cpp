#include "engine/ops/core/ops.h"

#include "engine/ops/core/checks.h"

namespace tapedeck {

using ops::number;

Tensor operator+(const Tensor& a, const Tensor& b) {
  return ops::add(a, b);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  return ops::subtract(a, b);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  return ops::multiply(a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  return ops::divide(a, b);
}
Tensor operator-(const Tensor& a) {
  return ops::negative(a);
}
Tensor operator+(const Tensor& a, double b) {
  return ops::add(a, number(b, a.dtype()));
}
Tensor operator-(const Tensor& a, double b) {
  return ops::subtract(a, number(b, a.dtype()));
}
Tensor operator*(const Tensor& a, double b) {
  return ops::multiply(a, number(b, a.dtype()));
}
Tensor operator/(const Tensor& a, double b) {
  return ops::divide(a, number(b, a.dtype()));
}
Tensor operator+(double a, const Tensor& b) {
  return ops::add(number(a, b.dtype()), b);
}
Tensor operator-(double a, const Tensor& b) {
  return ops::subtract(number(a, b.dtype()), b);
}
Tensor operator*(double a, const Tensor& b) {
  return ops::multiply(number(a, b.dtype()), b);
}
Tensor operator/(double a, const Tensor& b) {
  return ops::divide(number(a, b.dtype()), b);
}

}  // namespace tapedeck
