#include "engine/data/stages/stage.h"

#include <cmath>

namespace tapedeck::data {

Tensor row_of(const Tensor& tensor, std::int64_t row) {
  const Shape shape(tensor.shape().span().subspan(1));
  const Strides strides(tensor.strides().span().subspan(1));
  return Tensor::view(tensor.storage(), tensor.dtype(), shape, strides,
                      tensor.offset() + row * tensor.strides()[0]);
}

std::int64_t scalar_of(const Element& results, std::string_view what) {
  if (results.size() != 1 || !results[0].tensor)
    fail<InvalidArgumentError>(what, " returned ", results.size(), " values; needs one scalar");
  const Tensor& value = results[0].tensor;
  if (value.count() != 1 || is_floating(value.dtype()))
    fail<InvalidArgumentError>(what, " returned ", dtype_name(value.dtype()), " of shape ",
                               to_string(value.shape()), "; needs a scalar that is bool or a whole number");
  return static_cast<std::int64_t>(value.item());
}

const DatasetPointer& dataset_of(const Element& results, std::string_view what) {
  if (results.size() != 1 || !results[0].dataset) fail<TypeMismatchError>(what, " returned no Dataset");
  return results[0].dataset;
}

}  // namespace tapedeck::data
