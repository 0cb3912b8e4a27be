#include "engine/backend/backend.h"
#include "engine/cuda/faults.h"

namespace tapedeck::cuda {

Faults::Faults() {
  void* fault = pinned_memory(sizeof(Fault), cudaHostAllocMapped | cudaHostAllocPortable);
  of_host_ = new (fault) Fault{};
  void* as_device_sees_it = nullptr;
  check(cudaHostGetDevicePointer(&as_device_sees_it, fault, 0), "pinned memory of the host");
  of_device_ = static_cast<Fault*>(as_device_sees_it);
}

Report Faults::report(const FaultMessage& message) {
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

bool Faults::found() const {
  return static_cast<const volatile Fault&>(*of_host_).message != 0;
}

void Faults::throw_found() {
  volatile Fault& found = *of_host_;
  const int number = found.message;
  if (number == 0) return;
  const long long place = found.place, value = found.value;
  const double amount = found.amount;
  found.message = 0;
  FaultMessage message{FaultMessage::Kind::text, "an op was given arguments that its kernel refuses"};
  if (number >= first_number_) message = *messages_[static_cast<std::size_t>(number - first_number_)];
  switch (message.kind) {
    case FaultMessage::Kind::index:
      fail<OutOfRangeError>(message.what, "[", place, "] is ", value, "; must be in [", message.low, ", ",
                            message.high, ")");
    case FaultMessage::Kind::slice:
      fail<OutOfRangeError>(message.what, "[", place, "] holds ", value, ", ", message.rest);
    case FaultMessage::Kind::repeated:
      fail<InvalidArgumentError>(message.what, ": ", value, ", at ", place);
    case FaultMessage::Kind::matrix:
      throw InvalidArgumentError(
          failure_message({message.what.c_str(), {}, {}, Shape(message.batch)}, {place, {value, amount}}));
    case FaultMessage::Kind::text:
      throw InvalidArgumentError(message.what);
  }
}

Report report_later(const FaultMessage& message) {
  Stream& stream = current_stream();
  if (!stream.faults) stream.faults = new Faults;
  return stream.faults->report(message);
}

void throw_faults(Stream& waited) {
  if (waited.faults) waited.faults->throw_found();
  throw_faults_of_ended(waited);
  // The values read may have come from another device.
  for (Stream* other : streams_of_thread()) {
    if (!other || other == &waited || !other->faults || !other->faults->found()) continue;
    wait_for_all(*other);
    other->faults->throw_found();
  }
}

}  // namespace tapedeck::cuda
