#include "engine/record/trace/trace_chunk.h"

#include <sys/mman.h>

namespace tapedeck {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{2} << 20;  // a huge page

}  // namespace

Trace::Chunk* Trace::Chunk::make() {
  static_assert(sizeof(Chunk) <= chunk_bytes && sizeof(Chunk) > chunk_bytes / 8 * 7);
  void* mapped = ::mmap(nullptr, 2 * chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const bytes = static_cast<std::byte*>(mapped);
  const std::size_t before =
      (chunk_bytes - reinterpret_cast<std::uintptr_t>(mapped) % chunk_bytes) % chunk_bytes;
  if (before > 0) ::munmap(bytes, before);
  ::munmap(bytes + before + chunk_bytes, chunk_bytes - before);
  ::madvise(bytes + before, chunk_bytes, MADV_HUGEPAGE);
  return reinterpret_cast<Chunk*>(bytes + before);
}

void Trace::Chunk::destroy(Chunk* chunk) {
  if (!chunk) return;
  for (std::uint32_t i = 0; i < size; ++i)
    if (chunk->state(i)) chunk->slot(i).~Slot();
  delete chunk->errors;
  delete[] chunk->device_slots_.load();
  ::munmap(chunk, chunk_bytes);
}

std::uint64_t Trace::Chunk::set_device_time(std::uint32_t number, const DeviceTime& time) {
  DeviceSlot* slots = device_slots_.load(std::memory_order_acquire);
  std::uint64_t bytes = 0;
  if (!slots) {
    auto* const fresh = new DeviceSlot[size]();
    if (device_slots_.compare_exchange_strong(slots, fresh)) {
      slots = fresh;
      bytes = size * sizeof(DeviceSlot);
    } else {
      delete[] fresh;
    }
  }
  DeviceSlot& slot = slots[number % size];
  slot.start.store(time.start, std::memory_order_relaxed);
  slot.duration.store(time.duration, std::memory_order_relaxed);
  slot.gpu.store(time.gpu, std::memory_order_relaxed);
  slot.state.store(static_cast<std::uint8_t>(time.state), std::memory_order_release);
  return bytes;
}

DeviceTime Trace::Chunk::device_time(std::uint32_t number) const {
  const DeviceSlot* slots = device_slots_.load(std::memory_order_acquire);
  if (!slots) return {};
  const DeviceSlot& slot = slots[number % size];
  DeviceTime time;
  time.state = static_cast<WorkTime>(slot.state.load(std::memory_order_acquire));
  time.gpu = slot.gpu.load(std::memory_order_relaxed);
  time.start = slot.start.load(std::memory_order_relaxed);
  time.duration = slot.duration.load(std::memory_order_relaxed);
  return time;
}

}  // namespace tapedeck
