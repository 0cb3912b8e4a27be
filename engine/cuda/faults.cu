#include "engine/backend/backend.h"
#include "engine/cuda/faults.h"

namespace tapedeck::cuda {

Faults::Faults() {
  void* fault = nullptr;
  check(cudaHostAlloc(&fault, sizeof(Fault), cudaHostAllocMapped | cudaHostAllocPortable),
        "pinned memory of the host");
  of_host_ = new (fault) Fault{};
  void* as_device_sees_it = nullptr;
  check(cudaHostGetDevicePointer(&as_device_sees_it, fault, 0), "pinned memory of the host");
  of_device_ = static_cast<Fault*>(as_device_sees_it);
}

Report Faults::report(const FaultMessage& message) {
  std::lock_guard lock(mutex_);
  const auto [place, added] =
      numbers_.try_emplace(message, first_number_ + static_cast<int>(messages_.size()));
  if (added) messages_.push_back(&place->first);
  const int number = place->second;
  if (messages_.size() > most_messages) {
    numbers_.erase(*messages_.front());
    messages_.pop_front();
    ++first_number_;
  }
  return {of_device_, number};
}

void Faults::throw_found() {
  volatile Fault& found = *of_host_;
  const int number = found.message;
  if (number == 0) return;
  const long long place = found.place, value = found.value;
  const double amount = found.amount;
  found.message = 0;
  FaultMessage message{FaultMessage::Kind::text, "an op was given arguments that its kernel refuses"};
  {
    std::lock_guard lock(mutex_);
    if (number >= first_number_) message = *messages_[static_cast<std::size_t>(number - first_number_)];
  }
  switch (message.kind) {
    case FaultMessage::Kind::index:
      fail<OutOfRangeError>(message.what, "[", place, "] is ", value, "; must be in [", message.low, ", ",
                            message.high, ")");
    case FaultMessage::Kind::slice:
      fail<OutOfRangeError>(message.what, "[", place, "] holds ", value, ", ", message.rest);
    case FaultMessage::Kind::repeated:
      fail<InvalidArgumentError>(message.what, ": ", value, ", at ", place);
    case FaultMessage::Kind::flaw:
      throw InvalidArgumentError(
          told({message.what.c_str(), {}, {}, Shape(message.batch)}, {place, {value, amount}}));
    case FaultMessage::Kind::text:
      throw InvalidArgumentError(message.what);
  }
}

}  // namespace tapedeck::cuda
