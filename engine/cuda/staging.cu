#include <algorithm>
#include <cstring>

#include "engine/cuda/staging.h"
#include "engine/tensor/error.h"

namespace tapedeck::cuda {

Staging::Part Staging::make_part() {
  Part part;
  check(cudaEventCreateWithFlags(&part.done, cudaEventDisableTiming), "an event");
  part.memory = static_cast<std::byte*>(pinned_memory(part_bytes, cudaHostAllocPortable));
  return part;
}

bool Staging::grow() {
  if (written_.size() == most_parts) return false;
  try {
    const Part part = make_part();
    written_.insert(written_.begin() + static_cast<std::ptrdiff_t>(part_) + 1, part);
    return true;
  } catch (const ResourceExhaustedError&) {  // so there is less of it
    return false;
  }
}

void Staging::next_part(Stream& stream) {
  check(cudaEventRecord(written_[part_].done, stream.handle), "an event");
  const cudaEvent_t oldest = written_[(part_ + 1) % written_.size()].done;
  const cudaError_t state = cudaEventQuery(oldest);
  if (state == cudaErrorNotReady) {
    cudaGetLastError();
    if (!grow()) unlocked([oldest] { return cudaEventSynchronize(oldest); }, "a copy to the device");
  } else {
    check(state, "a copy to the device");
  }
  part_ = (part_ + 1) % written_.size();
  used_ = 0;
}

void Staging::write(Stream& stream, const void* from, void* to, std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  while (bytes > 0) {
    if (written_.empty())
      written_.push_back(make_part());
    else if (used_ == part_bytes)
      next_part(stream);
    const std::size_t count = std::min(bytes, part_bytes - used_);
    std::byte* const place = written_[part_].memory + used_;
    std::memcpy(place, source, count);
    check(cudaMemcpyAsync(target, place, count, cudaMemcpyHostToDevice, stream.handle),
          "a copy to the device");
    stream.note_work();
    used_ = std::min(part_bytes, (used_ + count + alignment - 1) / alignment * alignment);
    source += count;
    target += count;
    bytes -= count;
  }
}

void Staging::read(Stream& stream, const void* from, void* to, std::size_t bytes) {
  for (std::size_t i = 0; i < most_ahead && i * part_bytes < bytes; ++i)
    if (!read_[i].memory) read_[i] = make_part();
  unlocked(
      [&] {
        return read_parts(stream, static_cast<const std::byte*>(from), static_cast<std::byte*>(to), bytes);
      },
      "a copy from the device");
}

/// Some parts are on their way while the host takes up another.
cudaError_t Staging::read_parts(Stream& stream, const std::byte* from, std::byte* to, std::size_t bytes) {
  const std::size_t parts = (bytes + part_bytes - 1) / part_bytes;
  const auto size = [&](std::size_t part) { return std::min(part_bytes, bytes - part * part_bytes); };
  std::size_t begun = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    for (; begun < std::min(parts, part + most_ahead); ++begun) {
      const Part& of = read_[begun % most_ahead];
      cudaError_t error = cudaMemcpyAsync(of.memory, from + begun * part_bytes, size(begun),
                                          cudaMemcpyDeviceToHost, stream.handle);
      if (error == cudaSuccess) error = cudaEventRecord(of.done, stream.handle);
      if (error != cudaSuccess) return error;
    }
    const Part& of = read_[part % most_ahead];
    if (const cudaError_t error = cudaEventSynchronize(of.done); error != cudaSuccess) return error;
    std::memcpy(to + part * part_bytes, of.memory, size(part));
  }
  return cudaSuccess;
}

}  // namespace tapedeck::cuda
