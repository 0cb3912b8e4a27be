// Tensors of DType::string: each element is a std::string_view in the tensor's storage. The bytes are in pool
// blocks that storages share and keep alive, so that moving elements moves views and copies no bytes. Any
// bytes are allowed; text is UTF-8.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Row-major values. Throws InvalidArgumentError if their number does not match the shape.
Tensor string_tensor(const Shape& shape, std::span<const std::string_view> values);
Tensor string_tensor(const Shape& shape, const std::vector<std::string>& values);

/// The elements in row-major order; they live as long as the tensor does. Throws TypeMismatchError for
/// another dtype.
std::vector<std::string_view> strings_of(const Tensor& tensor);

/// The one element of a scalar (or of any tensor with one element).
std::string_view string_of(const Tensor& tensor);

/// Makes `storage`, into which elements of the string tensors among `sources` have been copied, keep their
/// bytes alive; copies the bytes instead if it uses little of them. To be called before the storage is
/// shared.
void share_strings(Storage& storage, std::span<const Tensor> sources);

/// As Python writes bytes: b'abc', b"it's", b'\xff'. Writes at most `most` bytes, and "…" for the rest.
std::string bytes_literal(std::string_view bytes, std::size_t most = SIZE_MAX);

}  // namespace tapedeck
