// Errors that kernels find in their arguments, reported to the thread that started them when it next waits
// for a device. Errors left by a thread that has ended are reported to the threads that use its results.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/cuda/runtime.h"

namespace tapedeck::cuda {

/// In host memory that the device can write.
struct Fault {
  int lock;                ///< held by the writer
  int message;             ///< its number; 0: no error
  long long place, value;  ///< the first error
  double amount;           ///< additional value
};

/// The error message, except the place and the value, which the kernel supplies.
struct FaultMessage {
  enum class Kind : std::uint8_t {
    index,     ///< OutOfRangeError: `what`[place] is value; must be in [low, high)
    slice,     ///< OutOfRangeError: `what`[place] holds value, `rest`
    repeated,  ///< InvalidArgumentError: `what`: value, at place
    matrix,    ///< InvalidArgumentError: `what`, a FailureText's pattern; place, value and amount: a
               ///< MatrixFailure
    text       ///< InvalidArgumentError: `what`
  };
  Kind kind;
  std::string what;
  std::int64_t low = 0, high = 0;
  std::string rest{};
  std::vector<std::int64_t> batch{};

  auto operator<=>(const FaultMessage&) const = default;
};

/// A kernel's handle for reporting a fault; kernels take it by value.
struct Report {
  Fault* fault;
  int message;

  /// Called by one thread of a block. Does not replace a fault of another message, or one at a lower place.
  __device__ void operator()(long long place, long long value, double amount = 0) const {
    while (atomicCAS(&fault->lock, 0, 1) != 0) {
    }
    __threadfence_system();
    volatile Fault& found = *fault;
    if (found.message == 0 || (found.message == message && place < found.place)) {
      found.place = place;
      found.value = value;
      found.amount = amount;
      __threadfence_system();
      found.message = message;
    }
    __threadfence_system();
    atomicExch(&fault->lock, 0);
  }
};

constexpr long long no_place = 0x7fffffffffffffff;
/// Reports the lowest place that a thread of the block found; all of its threads call it, once in a kernel.
__device__ inline void report_first(const Report& report, long long place, long long value,
                                    double amount = 0) {
  __shared__ long long first;
  if (threadIdx.x == 0) first = no_place;
  __syncthreads();
  if (place != no_place) atomicMin(&first, place);
  __syncthreads();
  if (place != no_place && place == first) report(place, value, amount);
}

/// The faults of one stream, for its thread.
class Faults {
 public:
  Faults();
  Report report(const FaultMessage& message);
  bool found() const;
  /// Throws and clears the fault of a finished kernel, if there is one.
  void throw_found();

 private:
  static constexpr std::size_t most_messages =
      4096;  ///< texts may name a step, so they cannot be kept forever

  Fault* of_host_ = nullptr;
  Fault* of_device_ = nullptr;
  std::map<FaultMessage, int> numbers_;
  std::deque<const FaultMessage*> messages_;  ///< of the numbers from first_number_ on
  int first_number_ = 1;
};

/// Of the calling thread's stream on the current device.
Report report_later(const FaultMessage& message);
/// Throws the faults for the calling thread, which has just waited for the stream.
void throw_faults(Stream& waited);

}  // namespace tapedeck::cuda
