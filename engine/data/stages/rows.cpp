#include "engine/data/stages/rows.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/parallel.h"
#include "engine/tensor/strings.h"

namespace tapedeck::data {

namespace {

std::byte* raw_of(Tensor& tensor) {
  return const_cast<std::byte*>(tensor.raw());
}

Shape prefixed(std::int64_t rows, const Shape& shape) {
  Shape all;
  all.push_back(rows);
  for (const std::int64_t extent : shape) all.push_back(extent);
  return all;
}

/// Uninitialised elements of a string tensor from `begin` on.
void clear_views(Tensor& tensor, std::int64_t begin) {
  std::fill(tensor.writable_data<std::string_view>() + begin,
            tensor.writable_data<std::string_view>() + tensor.count(), std::string_view());
}

std::size_t bytes_of(const Shape& shape, DType dtype) {
  return static_cast<std::size_t>(element_count(shape)) * item_size(dtype);
}

}  // namespace

StackedRows::StackedRows(const Component& first, std::int64_t room, std::size_t number) : room_(room) {
  if (!first.tensor)
    fail<TypeMismatchError>("component ", number, " is a data set, which a batch cannot hold");
  dtype_ = first.tensor.dtype();
  row_shape_ = first.tensor.shape();
  row_bytes_ = bytes_of(row_shape_, dtype_);
  rows_ = Tensor::allocate(dtype_, with_rows(room_));
}

Shape StackedRows::with_rows(std::int64_t rows) const {
  return prefixed(rows, row_shape_);
}

void StackedRows::grow() {
  room_ *= 2;
  Tensor larger = Tensor::allocate(dtype_, with_rows(room_));
  std::memcpy(raw_of(larger), rows_.raw(), static_cast<std::size_t>(count_) * row_bytes_);
  rows_ = std::move(larger);
}

void StackedRows::add(const Component& row, std::size_t number) {
  if (!row.tensor) fail<TypeMismatchError>("component ", number, " is a data set, which a batch cannot hold");
  if (row.tensor.dtype() != dtype_)
    fail<InvalidArgumentError>("component ", number, " is ", dtype_name(row.tensor.dtype()),
                               " where the batch has ", dtype_name(dtype_));
  if (!(row.tensor.shape() == row_shape_))
    fail<InvalidArgumentError>("component ", number, " has shape ", to_string(row.tensor.shape()),
                               " where the batch has ", to_string(row_shape_),
                               "; padded_batch fills them up");
  if (count_ == room_) grow();
  if (row_bytes_ > 0)
    std::memcpy(raw_of(rows_) + static_cast<std::size_t>(count_) * row_bytes_,
                row.tensor.make_contiguous().raw(), row_bytes_);
  if (dtype_ == DType::string) sources_.push_back(row.tensor);
  ++count_;
}

Tensor StackedRows::finish() {
  if (count_ * 2 <= room_) {  // half of the memory would be wasted
    room_ = count_;
    Tensor exact = Tensor::allocate(dtype_, with_rows(room_));
    std::memcpy(raw_of(exact), rows_.raw(), static_cast<std::size_t>(count_) * row_bytes_);
    rows_ = std::move(exact);
  }
  if (dtype_ == DType::string) {
    clear_views(rows_, count_ * element_count(row_shape_));
    share_strings(*rows_.storage().get(), sources_);
  }
  if (count_ == room_) return std::move(rows_);
  return Tensor::view(rows_.storage(), dtype_, with_rows(count_), rows_.strides(), rows_.offset());
}

Tensor gather_rows(const Tensor& tensor, std::span<const std::int64_t> rows) {
  constexpr std::int64_t bytes_at_once = 256 * 1024;
  const Tensor from = tensor.make_contiguous();
  const Shape shape(from.shape().span().subspan(1));
  const std::size_t row_bytes = bytes_of(shape, from.dtype());
  Tensor to = Tensor::allocate(from.dtype(), prefixed(std::ssize(rows), shape));
  const std::byte* source = from.raw();
  std::byte* target = raw_of(to);
  const std::int64_t grain = std::max<std::int64_t>(
      1, bytes_at_once / std::max<std::int64_t>(1, static_cast<std::int64_t>(row_bytes)));
  cpu::parallel_for(std::ssize(rows), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::memcpy(target + static_cast<std::size_t>(i) * row_bytes,
                  source + static_cast<std::size_t>(rows[static_cast<std::size_t>(i)]) * row_bytes,
                  row_bytes);
  });
  if (from.dtype() == DType::string) share_strings(*to.storage().get(), std::span(&from, 1));
  return to;
}

namespace {

/// The extents to which all are padded.
Shape padded_shape(std::span<const Tensor> tensors, const std::optional<std::vector<std::int64_t>>& wanted,
                   std::size_t component) {
  const int rank = tensors[0].rank();
  if (wanted && std::ssize(*wanted) != rank)
    fail<InvalidArgumentError>("component ", component, " has shape ", to_string(tensors[0].shape()),
                               "; its padded shape has ", wanted->size(), " axes");
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t longest = 0;
    for (const Tensor& tensor : tensors) {
      if (tensor.rank() != rank || tensor.dtype() != tensors[0].dtype())
        fail<InvalidArgumentError>("component ", component, " is ", dtype_name(tensor.dtype()), " ",
                                   to_string(tensor.shape()), " where the batch began with ",
                                   dtype_name(tensors[0].dtype()), " ", to_string(tensors[0].shape()));
      longest = std::max(longest, tensor.dim(axis));
    }
    const std::int64_t extent = wanted ? (*wanted)[static_cast<std::size_t>(axis)] : -1;
    if (extent >= 0 && longest > extent)
      fail<InvalidArgumentError>("component ", component, " has an extent of ", longest, " along axis ", axis,
                                 ", more than its padded shape's ", extent);
    shape.push_back(extent < 0 ? longest : extent);
  }
  return shape;
}

void fill(Tensor& tensor, const Tensor& value) {
  const std::size_t item = item_size(tensor.dtype());
  std::byte* to = raw_of(tensor);
  if (!value) {
    std::memset(to, 0, tensor.bytes());
    return;
  }
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * item, value.raw(), item);
}

/// Copies `from` into the corner of a row of the batch, innermost rows at once.
void copy_into_corner(const Tensor& from, std::byte* to, const Shape& room) {
  const Tensor source = from.make_contiguous();
  if (source.count() == 0) return;
  const std::size_t item = item_size(source.dtype());
  if (source.rank() == 0) {
    std::memcpy(to, source.raw(), item);
    return;
  }
  const int last = source.rank() - 1;
  const Strides strides = contiguous_strides(room);
  const auto line = static_cast<std::size_t>(source.dim(last)) * item;
  std::vector<std::int64_t> index(static_cast<std::size_t>(last), 0);
  const std::byte* at = source.raw();
  for (std::int64_t lines = source.count() / source.dim(last); lines > 0; --lines, at += line) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < last; ++axis) offset += index[static_cast<std::size_t>(axis)] * strides[axis];
    std::memcpy(to + static_cast<std::size_t>(offset) * item, at, line);
    for (int axis = last - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < source.dim(axis)) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

}  // namespace

Tensor padded_stack(std::span<const Tensor> tensors, const std::optional<std::vector<std::int64_t>>& shape,
                    const Tensor& value, std::size_t component) {
  const Shape room = padded_shape(tensors, shape, component);
  const DType dtype = tensors[0].dtype();
  if (value && value.dtype() != dtype)
    fail<TypeMismatchError>("component ", component, " is ", dtype_name(dtype), "; its padding value is ",
                            dtype_name(value.dtype()));
  Tensor batch = Tensor::allocate(dtype, prefixed(std::ssize(tensors), room));
  fill(batch, value);
  const std::size_t row_bytes = bytes_of(room, dtype);
  std::byte* to = raw_of(batch);
  for (const Tensor& tensor : tensors) {
    copy_into_corner(tensor, to, room);
    to += row_bytes;
  }
  if (dtype == DType::string) {
    std::vector<Tensor> sources(tensors.begin(), tensors.end());
    if (value) sources.push_back(value);
    share_strings(*batch.storage().get(), sources);
  }
  return batch;
}

}  // namespace tapedeck::data
