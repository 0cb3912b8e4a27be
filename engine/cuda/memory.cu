#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "engine/cuda/faults.h"
#include "engine/cuda/loops/copy.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/spans.h"
#include "engine/cuda/staging.h"
#include "engine/tensor/block_pool.h"

namespace tapedeck::cuda {
namespace {

using detail::readable_bytes;

constexpr std::size_t largest_shown = 3;  ///< holders in the text of an error

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, cuda_device(device)), "the properties of a device");
  return properties;
}

std::uint64_t pool_number(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool, attribute, &bytes), "the state of a memory pool");
  return bytes;
}

}  // namespace

GpuMemory::GpuMemory(int device) : device_(device) {
  const cudaDeviceProp properties = properties_of(device);
  capacity_ = properties.totalGlobalMem;
  description_ = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
                 "." + std::to_string(properties.minor);
  check(cudaDeviceGetDefaultMemPool(&pool_, cuda_device(device)), "the memory pool of a device");
  // What is freed stays in the pool; fresh memory takes a thousand times as long.
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all), "setting up a memory pool");
}

DeviceBlock* GpuMemory::allocate(std::size_t bytes) {
  Stream& stream = stream_of(device_);
  auto block = std::make_unique<Block>();
  block->memory = this;
  block->data = take_memory(stream, bytes, "");
  block->bytes = bytes;
  block->home = &stream;
  block->op = host().op_name();
  std::lock_guard lock(mutex_);
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  block->behind = held_;
  if (held_) held_->before = block.get();
  held_ = block.get();
  return block.release();
}

std::string GpuMemory::holders() const {
  struct Piece {
    std::size_t bytes;
    const char* op;
  };
  std::vector<Piece> pieces;
  {
    std::lock_guard lock(mutex_);
    for (const Block* block = held_; block; block = block->behind)
      pieces.push_back({block->bytes, block->op});
  }
  if (pieces.empty()) return {};
  const std::size_t shown = std::min(pieces.size(), largest_shown);
  std::partial_sort(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(shown), pieces.end(),
                    [](const Piece& a, const Piece& b) { return a.bytes > b.bytes; });
  std::string text =
      "tensors hold " + std::to_string(pieces.size()) + (pieces.size() == 1 ? " piece" : " pieces");
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? ", the largest of " : ", ") + readable_bytes(pieces[i].bytes);
    if (pieces[i].op) text += " (by " + std::string(pieces[i].op) + ")";
  }
  return text;
}

void make_room(int device) {
  unlocked([] { return cudaDeviceSynchronize(); }, "waiting for the device");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, cuda_device(device)), "the memory pool of a device");
  check(cudaMemPoolTrimTo(pool, 0), "trimming a memory pool");
}

void* take_memory(Stream& stream, std::size_t bytes, const char* what) {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  void* data = nullptr;
  cudaError_t error = cudaMallocAsync(&data, wanted, stream.handle);
  if (error == cudaErrorMemoryAllocation) {
    // What other streams free soon may do, or what lies in too small pieces.
    cudaGetLastError();
    make_room(stream.device);
    error = cudaMallocAsync(&data, wanted, stream.handle);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      refuse_memory(stream.device, std::string(what) + "needs " + readable_bytes(bytes));
    }
  }
  check(error, "an allocation");
  stream.note_work();
  return data;
}

void refuse_memory(int device, const std::string& wanted) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "the free memory of a device");
  std::string text = wanted + ", /gpu:" + std::to_string(device) + " has " + readable_bytes(total) +
                     " of which " + readable_bytes(free) + " are free";
  if (const GpuMemory* memory = find_memory(device))
    if (const std::string holders = memory->holders(); !holders.empty()) text += "; " + holders;
  throw ResourceExhaustedError(text);
}

void* pinned_memory(std::size_t bytes, unsigned flags) {
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, bytes, flags);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw ResourceExhaustedError("needs " + readable_bytes(bytes) +
                                 " of host memory for copies from and to GPUs, which is not available");
  }
  check(error, "pinned memory of the host");
  return memory;
}

Scratch::Scratch(std::size_t bytes) : stream_(current_stream()) {
  if (bytes > 0) data_ = take_memory(stream_, bytes, "its kernels' own memory ");
}
Scratch::~Scratch() {
  if (data_ && !is_lost()) cudaFreeAsync(data_, stream_.handle);
}

void GpuMemory::free(DeviceBlock* device_block) noexcept {
  const std::unique_ptr<Block> block(static_cast<Block*>(device_block));
  {
    std::lock_guard lock(mutex_);
    in_use_ -= block->bytes;
    (block->before ? block->before->behind : held_) = block->behind;
    if (block->behind) block->behind->before = block->before;
  }
  if (is_lost()) return;
  // If the device is broken, another call reports it.
  try {
    for (Stream* user : block->users) wait_again(*block->home, *user);
    check(cudaFreeAsync(block->data, block->home->handle), "giving memory back");
  } catch (const DeviceError&) {
  }
}

void GpuMemory::use(DeviceBlock* device_block) {
  auto& block = *static_cast<Block*>(device_block);
  Stream& own = stream_of(device_);
  if (block.home == &own && !block.shared.load(std::memory_order_acquire)) [[likely]]
    return;
  std::lock_guard lock(block.mutex);
  wait_for(own, *block.home);
  hear_of(own, *block.home);
  for (Stream* user : block.users) wait_for(own, *user);
  if (block.home == &own || std::find(block.users.begin(), block.users.end(), &own) != block.users.end())
    return;
  block.users.push_back(&own);
  block.shared.store(true, std::memory_order_release);
}

void GpuMemory::wait(Stream& stream) {
  wait_for_all(stream);
  throw_faults(stream);
}

void GpuMemory::read(const void* from, void* to, std::size_t bytes) {
  Stream& stream = stream_of(device_);
  if (!stream.staging) stream.staging = new Staging;
  stream.staging->read(stream, from, to, bytes);
  wait(stream);
}

void GpuMemory::write(const void* from, void* to, std::size_t bytes) {
  Stream& stream = stream_of(device_);
  if (!stream.staging) stream.staging = new Staging;
  stream.staging->write(stream, from, to, bytes);
}

void GpuMemory::copy(DeviceBlock& source, const void* from, void* to, std::size_t bytes) {
  if (bytes == 0) return;
  source.memory->use(&source);
  if (source.memory == this) {
    Stream& stream = stream_of(device_);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream.handle),
          "a copy within the device");
    stream.note_work();
    return;
  }
  Stream& there = stream_of(static_cast<GpuMemory*>(source.memory)->device_);
  Stream& here = stream_of(device_);
  wait_again(here, there);
  check(cudaMemcpyPeerAsync(to, cuda_device(device_), from, cuda_device(there.device), bytes, here.handle),
        "a copy from another device");
  here.note_work();
  wait_again(there, here);  // the source may be given to others only then
  there.note_work();
}

void GpuMemory::copy_strided(std::size_t size, const void* from, const Strides& strides, void* to,
                             const Shape& shape) {
  const OnDevice here(device_);
  copy_elements(size, from, strides, to, contiguous_strides(shape), shape);
}

void GpuMemory::synchronize() {
  wait(stream_of(device_));
}

bool GpuMemory::begin_span(std::uint64_t tag, std::int64_t (*clock)()) noexcept {
  if (is_lost()) return false;
  try {
    Stream& stream = stream_of(device_);
    Spans* spans = stream.spans.load(std::memory_order_relaxed);
    if (!spans) stream.spans.store(spans = new Spans, std::memory_order_release);
    return spans->begin(stream, tag, clock);
  } catch (const std::exception&) {  // whatever fails here fails for the work itself, too
    return false;
  }
}

void GpuMemory::end_span(std::uint64_t tag) noexcept {
  if (is_lost()) return;
  try {
    Stream& stream = stream_of(device_);
    if (Spans* spans = stream.spans.load(std::memory_order_relaxed)) spans->end(stream, tag);
  } catch (const std::exception&) {
  }
}

void GpuMemory::collect_spans(const std::function<void(const DeviceSpan&)>& take) {
  for (Stream* stream : all_streams(device_))
    if (Spans* spans = stream->spans.load(std::memory_order_acquire)) spans->collect(take);
}

PoolStatistics GpuMemory::statistics() const {
  PoolStatistics statistics;
  if (!is_lost()) {
    const std::uint64_t reserved = pool_number(pool_, cudaMemPoolAttrReservedMemCurrent);
    statistics.bytes_cached =
        reserved - std::min(reserved, pool_number(pool_, cudaMemPoolAttrUsedMemCurrent));
  }
  std::lock_guard lock(mutex_);
  statistics.bytes_in_use = in_use_;
  statistics.peak_bytes_in_use = peak_;
  return statistics;
}

void GpuMemory::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

void GpuMemory::trim() {
  wait_for_all(stream_of(device_));
  check(cudaMemPoolTrimTo(pool_, 0), "trimming a memory pool");
}

}  // namespace tapedeck::cuda
