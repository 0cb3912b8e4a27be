// An immutable n-dimensional array: a strided view of a storage.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/dtype.h"
#include "engine/tensor/error.h"
#include "engine/tensor/shape.h"
#include "engine/tensor/storage.h"

namespace tapedeck {

/// The object behind a Tensor. Created only by Tensor's functions; fields never change afterwards, so a
/// tensor may be read from any thread.
struct TensorBody {
  std::atomic<std::uint32_t> references{1};
  DType dtype{};
  Device device;
  bool observer = false;  ///< holds its storage as an observer
  std::uint64_t id = 0;   ///< unique in the process, grows with time, never 0
  StoragePointer storage;
  std::int64_t offset = 0;  ///< of the first element, in elements
  std::int64_t count = 0;   ///< number of elements
  Shape shape;
  Strides strides;         ///< in elements
  bool contiguous = true;  ///< row-major without gaps
};

/// A handle that shares one TensorBody; cheap to copy; may be empty ("undefined"), as a missing gradient is.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : body_(other.body_) {
    if (body_) body_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Tensor() {
    if (body_) release(body_);
  }

  /// Row-major, uninitialised; the caller (a kernel) fills it before anyone else sees it.
  static Tensor allocate(DType dtype, const Shape& shape, Device device = op_device());
  /// A view of `storage`; nothing is copied. Checks that the view lies inside the storage.
  static Tensor view(StoragePointer storage, DType dtype, const Shape& shape, const Strides& strides,
                     std::int64_t offset);
  /// Copies `values` (row-major). On the CPU, as the others below.
  template <class T>
  static Tensor from_values(std::span<const T> values, const Shape& shape);
  /// A scalar of `dtype`; the value is cast as C++ casts it. UnimplementedError for strings.
  static Tensor scalar(double value, DType dtype = DType::float32);

  explicit operator bool() const { return body_ != nullptr; }
  bool same_body(const Tensor& other) const { return body_ == other.body_; }

  DType dtype() const { return body_->dtype; }
  const Shape& shape() const { return body_->shape; }
  const Strides& strides() const { return body_->strides; }
  int rank() const { return body_->shape.rank(); }
  std::int64_t dim(int axis) const { return body_->shape[axis]; }
  std::int64_t count() const { return body_->count; }
  std::size_t bytes() const { return static_cast<std::size_t>(body_->count) * item_size(body_->dtype); }
  bool contiguous() const { return body_->contiguous; }
  std::uint64_t id() const { return body_->id; }
  Device device() const { return body_->device; }
  bool on_cpu() const { return body_->device.kind == DeviceKind::cpu; }
  const StoragePointer& storage() const { return body_->storage; }
  std::int64_t offset() const { return body_->offset; }
  /// The number of handles that share this tensor.
  std::uint32_t references() const { return body_->references.load(std::memory_order_acquire); }

  /// First element, in memory of the device. T must be the dtype's C++ type. The writable form is for the
  /// kernel that makes the tensor.
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(body_->storage->data()) + body_->offset;
  }
  template <class T>
  T* writable_data() const {
    return reinterpret_cast<T*>(body_->storage->data()) + body_->offset;
  }
  const std::byte* raw() const {
    return body_->storage->data() + body_->offset * static_cast<std::int64_t>(item_size(body_->dtype));
  }

  /// A row-major tensor with the same values; itself if it is already contiguous.
  Tensor make_contiguous() const;
  /// The same view of a copy in host memory, for which it waits; itself if it is on the host.
  Tensor on_host() const;
  /// Only id, dtype and shape, without a reference to the memory. No other property of it may be read.
  Tensor without_values() const;
  /// The same tensor, with a body that holds the storage as an observer.
  Tensor as_observer() const;
  /// A tensor of a graph that is being traced: dtype, shape and id, but no elements. Reading
  /// elements throws FailedPreconditionError (on_host()).
  static Tensor symbolic(DType dtype, const Shape& shape);
  bool is_symbolic() const { return body_->device.kind == DeviceKind::symbolic; }
  /// A row-major tensor with that id at the start of a storage that an observer holds.
  static Tensor look(Storage& storage, std::uint64_t id, DType dtype, const Shape& shape);
  /// The only element, cast to double; for a complex number the magnitude. Throws InvalidArgumentError unless
  /// there is exactly one.
  double item() const;
  /// All values in row-major order, cast to double; for complex numbers the magnitudes.
  std::vector<double> to_vector() const;

  /// For the bindings: the raw body, with and without giving up ownership.
  TensorBody* body() const { return body_; }
  TensorBody* detach() { return std::exchange(body_, nullptr); }
  static Tensor adopt(TensorBody* body) {
    Tensor tensor;
    tensor.body_ = body;
    return tensor;
  }

 private:
  static void release(TensorBody* body) {
    if (body->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(body);
  }
  static void destroy(TensorBody* body);
  TensorBody* body_ = nullptr;
};

/// A vector whose first N elements need no allocation. Boost's own is no contiguous range to std::span.
template <class T, std::size_t N>
class SmallVector : public boost::container::small_vector<T, N> {
 public:
  using boost::container::small_vector<T, N>::small_vector;
  operator std::span<const T>() const { return {this->data(), this->size()}; }
  operator std::span<T>() { return {this->data(), this->size()}; }
};

using Tensors = SmallVector<Tensor, 4>;

/// What an op will return, known before its kernel runs.
struct TensorSpec {
  DType dtype{};
  Shape shape;
};
using TensorSpecs = SmallVector<TensorSpec, 2>;

extern template Tensor Tensor::from_values<bool>(std::span<const bool>, const Shape&);
extern template Tensor Tensor::from_values<std::int32_t>(std::span<const std::int32_t>, const Shape&);
extern template Tensor Tensor::from_values<std::int64_t>(std::span<const std::int64_t>, const Shape&);
extern template Tensor Tensor::from_values<float>(std::span<const float>, const Shape&);
extern template Tensor Tensor::from_values<double>(std::span<const double>, const Shape&);

namespace detail {
/// The highest id assigned so far, on any thread.
std::uint64_t newest_tensor_id();
/// Future ids are above `id`: those up to it belong to tensors of another process, whose trace is being read.
void skip_tensor_ids(std::uint64_t id);
}  // namespace detail

/// The values as TensorFlow prints them: "[[1. 2.]\n [3. 4.]]", long axes shortened with "...".
std::string format_values(const Tensor& tensor, int edge_items = 3);

}  // namespace tapedeck
