// A thread's cache of scalar constants: VJPs use the same few numbers again and again, and making a tensor
// costs as much as a third of a small op.
#include <array>
#include <bit>
#include <utility>

#include "engine/ops/core/checks.h"

namespace tapedeck::ops {
namespace {

struct Constant {
  std::uint64_t bits = 0;  ///< of the double: 0 and −0 are two
  DType dtype{};
  Tensor tensor;
};

/// A direct-mapped cache by their bits.
using Constants = std::array<Constant, 64>;

// As in the block pool: the pointer has no destructor, so it can be read while the thread's other variables
// are being destroyed.
[[gnu::tls_model("initial-exec")]] constinit thread_local Constants* thread_constants = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_has_left = false;

/// It is small: thread-local data must fit the limited static TLS of a loaded module.
struct ThreadGuard {
  ~ThreadGuard() {
    thread_has_left = true;
    delete std::exchange(thread_constants, nullptr);
  }
};

Constants* enter_thread() {
  if (thread_has_left) return nullptr;
  static thread_local ThreadGuard guard;
  return thread_constants = new Constants;
}

/// Whether it has no other reference: a tape that kept it must not meet it again as an operand of another
/// call.
bool is_free(const Tensor& tensor) {
  return tensor.references() == 1 && tensor.storage()->references() == 1;
}

}  // namespace

Tensor constant(double value, DType dtype) {
  Constants* constants = thread_constants;
  if (!constants) [[unlikely]] {
    constants = enter_thread();
    if (!constants) return Tensor::scalar(value, dtype);
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  // Multiplying by 2⁶⁴/φ moves the sign, the exponent and the first digits into the bits that select the
  // entry.
  const std::uint64_t mixed = (bits ^ static_cast<std::uint64_t>(dtype)) * 0x9E3779B97F4A7C15u;
  Constant& place = (*constants)[mixed >> 58];
  if (place.bits == bits && place.dtype == dtype && place.tensor && is_free(place.tensor)) [[likely]]
    return place.tensor;
  Tensor made = Tensor::scalar(value, dtype);
  place = {bits, dtype, made};
  return made;
}

}  // namespace tapedeck::ops
