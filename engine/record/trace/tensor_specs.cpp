#include "engine/record/trace/tensor_specs.h"

#include <array>
#include <memory>

#include "engine/record/trace/interner.h"

namespace tapedeck {
namespace {

std::size_t mix(DType dtype, Device device, const Shape& shape) {
  std::uint64_t hash = static_cast<std::uint64_t>(dtype) << 16 |
                       static_cast<std::uint64_t>(device.kind) << 8 |
                       static_cast<std::uint64_t>(device.index);
  for (const std::int64_t extent : shape)
    hash = (hash ^ static_cast<std::uint64_t>(extent)) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ static_cast<std::uint64_t>(shape.rank())) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::size_t>(hash ^ hash >> 29);
}

struct HashSpec {
  std::size_t operator()(const RecordedSpec& spec) const { return mix(spec.dtype, spec.device, spec.shape); }
};

Interner<RecordedSpec, HashSpec>& specs() {
  static Interner<RecordedSpec, HashSpec> interner(std::uint64_t{64} << 20);
  return interner;
}

struct CachedSpec {
  RecordedSpec spec;
  std::uint32_t number = 0;
};
using Cache = std::array<CachedSpec, 64>;

}  // namespace

std::uint32_t spec_number(const Tensor& tensor) {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Cache* cache = nullptr;
  if (!cache) [[unlikely]] {
    static thread_local const std::unique_ptr<Cache> owner = std::make_unique<Cache>();
    cache = owner.get();
  }
  const Device device = tensor.device();
  CachedSpec& entry = (*cache)[mix(tensor.dtype(), device, tensor.shape()) % std::tuple_size_v<Cache>];
  if (entry.number != 0 && entry.spec.dtype == tensor.dtype() && entry.spec.device == device &&
      entry.spec.shape == tensor.shape())
    return entry.number;
  entry.spec = {tensor.dtype(), device, tensor.shape()};
  entry.number = specs().intern(entry.spec);
  return entry.number;
}

std::uint32_t spec_number(const RecordedSpec& spec) {
  return specs().intern(spec);
}

RecordedSpec spec_of(std::uint32_t number) {
  return specs().at(number);
}

}  // namespace tapedeck
