#include "engine/tensor/tensor.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <new>

#include "engine/tensor/block_pool.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/foreign_devices.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/reuse.h"
#include "engine/tensor/strided_copy.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/symbolic_error.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck {
namespace {

__extension__ using WideInt = __int128;  // sums of products of int64 can't overflow it

constinit std::atomic<std::uint64_t> last_id{0};
/// Of this thread's ReusableTensor::Offer; nullptr: none, or it was taken.
[[gnu::tls_model("initial-exec")]] constinit thread_local TensorBody* offered = nullptr;

TensorBody* make_body(StoragePointer storage, DType dtype, const Shape& shape, std::int64_t count) {
  auto* body = new (detail::allocate_block(sizeof(TensorBody))) TensorBody;
  body->dtype = dtype;
  if (storage) body->device = storage->device();
  body->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  body->storage = std::move(storage);
  body->count = count;
  body->shape = shape;
  return body;
}

StoragePointer allocate_storage(DType dtype, const Shape& shape, std::int64_t count, Device device) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), item_size(dtype), &bytes)) bytes = SIZE_MAX;
  try {
    return StoragePointer::allocate(bytes, device);
  } catch (const ResourceExhaustedError& error) {
    fail<ResourceExhaustedError>(is_integer(dtype) && !is_unsigned(dtype) ? "an " : "a ", dtype_name(dtype),
                                 " tensor of shape ", to_string(shape), " ", error.what());
  }
}

bool is_contiguous(const Shape& shape, const Strides& strides, std::int64_t count) {
  if (count == 0) return true;
  std::int64_t expected = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

void check_extents(const Shape& shape) {
  for (const std::int64_t extent : shape)
    if (extent < 0)
      fail<InvalidArgumentError>("shape ", to_string(shape), " has a negative extent, ", extent);
}

/// Products of some of the extents must not overflow, though one of the others is 0: kernels form them.
void check_empty(const Shape& shape) {
  Shape others;
  for (const std::int64_t extent : shape)
    if (extent != 0) others.push_back(extent);
  try {
    element_count(others);
  } catch (const ResourceExhaustedError&) {
    fail<ResourceExhaustedError>("a tensor of shape ", to_string(shape),
                                 " is empty, but its other extents make more than 2^63 elements");
  }
}

/// Every element that the strides reach must lie inside the storage.
void check_view(const Storage& storage, DType dtype, const Shape& shape, const Strides& strides,
                std::int64_t offset, std::int64_t count) {
  if (strides.rank() != shape.rank())
    fail<InvalidArgumentError>("a view of shape ", to_string(shape), " needs ", shape.rank(),
                               " strides, not ", strides.rank());
  WideInt lowest = offset, highest = offset;
  if (count > 0)
    for (int axis = 0; axis < shape.rank(); ++axis)
      (strides[axis] < 0 ? lowest : highest) += static_cast<WideInt>(strides[axis]) * (shape[axis] - 1);
  else
    highest -= 1;  // an empty view may be at the end
  const auto items = static_cast<WideInt>(storage.size() / item_size(dtype));
  if (lowest < 0 || highest >= items)
    fail<InvalidArgumentError>("a ", dtype_name(dtype), " view of shape ", to_string(shape), ", strides ",
                               to_string(strides), " and offset ", offset, " leaves its storage of ",
                               storage.size(), " bytes");
}

}  // namespace

void detail::skip_tensor_ids(std::uint64_t id) {
  std::uint64_t last = last_id.load(std::memory_order_relaxed);
  while (last < id && !last_id.compare_exchange_weak(last, id, std::memory_order_relaxed)) {
  }
}

std::uint64_t detail::newest_tensor_id() {
  return last_id.load(std::memory_order_relaxed);
}

Tensor Tensor::allocate(DType dtype, const Shape& shape, Device device) {
  if (offered && offered->dtype == dtype && device.kind == DeviceKind::cpu && offered->shape == shape) {
    TensorBody* body = std::exchange(offered, nullptr);
    body->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
    return adopt(body);
  }
  check_extents(shape);
  const std::int64_t count = element_count(shape);
  if (count == 0) [[unlikely]]
    check_empty(shape);
  TensorBody* body = make_body(allocate_storage(dtype, shape, count, device), dtype, shape, count);
  if (dtype == DType::string) [[unlikely]]
    std::memset(body->storage->data(), 0, body->storage->size());  // empty strings
  body->strides = contiguous_strides(shape);
  return adopt(body);
}

void ReusableTensor::keep(Tensor& tensor) {
  constexpr std::size_t small = std::size_t{64} << 10;  // bytes; more is better off in the pool
  const Tensor dropped = std::exchange(kept_, std::exchange(tensor, {}));
  if (!kept_) return;
  const TensorBody& body = *kept_.body();
  const Storage* storage = body.storage.get();
  const bool is_free = storage && kept_.references() == 1 && !body.observer && kept_.on_cpu() &&
                       storage->references() == 1 && storage->mark() == 0 && !storage->borrowed() &&
                       storage->kept() == nullptr;
  const bool is_whole = kept_.contiguous() && kept_.bytes() <= small && storage &&
                        storage->size() == kept_.bytes() && kept_.dtype() != DType::string;
  if (!is_free || !is_whole) kept_ = {};
}

ReusableTensor::Offer::Offer(ReusableTensor& of) : of_(of) {
  if (of.kept_) offered = of.kept_.detach();
}

ReusableTensor::Offer::~Offer() {
  if (offered) of_.kept_ = Tensor::adopt(std::exchange(offered, nullptr));
}

Tensor Tensor::without_values() const {
  TensorBody* body = make_body({}, dtype(), shape(), count());
  body->id = id();
  body->device = device();
  body->offset = offset();  // a symbolic tensor's says what of the shape is unknown
  return adopt(body);
}

Tensor Tensor::symbolic(DType dtype, const Shape& shape) {
  check_extents(shape);
  TensorBody* body = make_body({}, dtype, shape, element_count(shape));
  body->device = {DeviceKind::symbolic, 0};
  body->strides = contiguous_strides(shape);
  return adopt(body);
}

Tensor Tensor::as_observer() const {
  Tensor same = look(*storage().get(), id(), dtype(), shape());
  same.body_->strides = strides();
  same.body_->offset = offset();
  same.body_->contiguous = contiguous();
  return same;
}

Tensor Tensor::look(Storage& storage, std::uint64_t id, DType dtype, const Shape& shape) {
  storage.retain_as_observer();
  TensorBody* body = new (detail::allocate_block(sizeof(TensorBody))) TensorBody;
  body->dtype = dtype;
  body->device = storage.device();
  body->observer = true;
  body->id = id;
  body->storage = StoragePointer::adopt(&storage);
  body->count = element_count(shape);
  body->shape = shape;
  body->strides = contiguous_strides(shape);
  return adopt(body);
}

Tensor Tensor::view(StoragePointer storage, DType dtype, const Shape& shape, const Strides& strides,
                    std::int64_t offset) {
  check_extents(shape);
  const std::int64_t count = element_count(shape);
  if (count == 0) [[unlikely]]
    check_empty(shape);
  check_view(*storage.get(), dtype, shape, strides, offset, count);
  TensorBody* body = make_body(std::move(storage), dtype, shape, count);
  body->strides = strides;
  body->offset = offset;
  body->contiguous = is_contiguous(shape, strides, count);
  return adopt(body);
}

template <class T>
Tensor Tensor::from_values(std::span<const T> values, const Shape& shape) {
  Tensor tensor = allocate(dtype_of<T>(), shape, Device{});
  if (static_cast<std::int64_t>(values.size()) != tensor.count())
    fail<InvalidArgumentError>("shape ", to_string(shape), " holds ", tensor.count(), " values, not ",
                               values.size());
  if (!values.empty()) std::memcpy(tensor.writable_data<T>(), values.data(), values.size_bytes());
  return tensor;
}

template Tensor Tensor::from_values<bool>(std::span<const bool>, const Shape&);
template Tensor Tensor::from_values<std::int32_t>(std::span<const std::int32_t>, const Shape&);
template Tensor Tensor::from_values<std::int64_t>(std::span<const std::int64_t>, const Shape&);
template Tensor Tensor::from_values<float>(std::span<const float>, const Shape&);
template Tensor Tensor::from_values<double>(std::span<const double>, const Shape&);

Tensor Tensor::scalar(double value, DType dtype) {
  if (is_narrow(dtype)) return narrowed(scalar(value, compute_dtype(dtype)), dtype);
  Tensor tensor = allocate(dtype, Shape{}, Device{});
  if (dtype == DType::uint64)
    *tensor.writable_data<std::uint64_t>() =
        value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                  : static_cast<std::uint64_t>(value);
  else if (dtype == DType::complex64)
    *tensor.writable_data<std::complex<float>>() = static_cast<float>(value);
  else if (dtype == DType::complex128)
    *tensor.writable_data<std::complex<double>>() = value;
  else
    visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *tensor.writable_data<T>() = static_cast<T>(value);
    });
  return tensor;
}

Tensor Tensor::make_contiguous() const {
  if (contiguous()) return *this;
  if (is_foreign(device())) return on_host();
  Tensor copy = allocate(dtype(), shape(), device());
  if (!on_cpu()) {
    device_memory(device()).use(storage()->device_block());
    device_memory(device()).copy_strided(item_size(dtype()), raw(), strides(), copy.storage()->data(),
                                         shape());
    return copy;
  }
  detail::copy_to_contiguous(raw(), shape(), strides(), item_size(dtype()), copy.storage()->data());
  if (dtype() == DType::string) share_strings(*copy.storage().get(), {this, 1});
  return copy;
}

Tensor Tensor::on_host() const {
  if (on_cpu()) return *this;
  if (is_symbolic())
    fail<SymbolicValueError>(
        "a ", dtype_name(dtype()), " tensor of shape ", shape_text(*this),
        " has no value yet: it belongs to a graph function that is being traced, and gets one each "
        "time the function runs");
  if (is_foreign(device())) return foreign_devices().on_host(*this);
  std::int64_t lowest = offset(), end = offset();
  if (count() > 0) {
    for (int axis = 0; axis < rank(); ++axis)
      (strides()[axis] < 0 ? lowest : end) += strides()[axis] * (dim(axis) - 1);
    ++end;
  }
  if (end - lowest > 2 * count()) {  // would transfer mostly unneeded bytes
    try {
      return make_contiguous().on_host();
    } catch (const ResourceExhaustedError&) {  // the device has no memory to make it contiguous
    }
  }
  const auto size = static_cast<std::int64_t>(item_size(dtype()));
  const auto bytes = static_cast<std::size_t>((end - lowest) * size);
  StoragePointer memory = StoragePointer::allocate(bytes);
  if (bytes > 0) {
    device_memory(device()).use(storage()->device_block());
    device_memory(device()).read(storage()->data() + lowest * size, memory->data(), bytes);
  }
  return view(std::move(memory), dtype(), shape(), strides(), offset() - lowest);
}

double Tensor::item() const {
  if (count() != 1)
    fail<InvalidArgumentError>("a tensor of shape ", to_string(shape()), " has ", count(),
                               " values; only one with a single value converts to a number");
  if (!on_cpu()) return on_host().item();
  if (has_partial_support(dtype())) return to_vector()[0];
  const Tensor wide = widened(*this);
  return visit_dtype(wide.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return static_cast<double>(*wide.data<T>());
  });
}

std::vector<double> Tensor::to_vector() const {
  if (!on_cpu()) return on_host().to_vector();
  const Tensor source = widened(make_contiguous());
  std::vector<double> values(static_cast<std::size_t>(source.count()));
  if (dtype() == DType::uint64) {
    std::copy_n(source.data<std::uint64_t>(), source.count(), values.begin());
    return values;
  }
  if (dtype() == DType::complex64) {
    std::transform(source.data<std::complex<float>>(), source.data<std::complex<float>>() + source.count(),
                   values.begin(), [](std::complex<float> z) { return std::abs(std::complex<double>(z)); });
    return values;
  }
  if (dtype() == DType::complex128) {
    std::transform(source.data<std::complex<double>>(), source.data<std::complex<double>>() + source.count(),
                   values.begin(), [](std::complex<double> z) { return std::abs(z); });
    return values;
  }
  return visit_dtype(source.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* first = source.data<T>();
    return std::vector<double>(first, first + source.count());
  });
}

void Tensor::destroy(TensorBody* body) {
  if (body->observer) [[unlikely]]
    body->storage.detach()->release_as_observer();
  body->~TensorBody();
  detail::free_block(body, sizeof(TensorBody));
}

}  // namespace tapedeck
