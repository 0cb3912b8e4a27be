// The memories of the devices, and the host's pinned one.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>

#include "copies.h"
#include "state.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(place, bytes) (static_cast<void>(place), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(place, bytes) (static_cast<void>(place), static_cast<void>(bytes))
#endif

namespace emulation {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t redzone = 256;  ///< before and behind each allocation
constexpr unsigned char redzone_byte = 0xa5, empty_byte = 0xff;
constexpr std::size_t few_blocks = 256;  ///< whose redzones are looked at after a piece of work

std::size_t rounded(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t limit() {
  static const std::size_t bytes = [] {
    const char* text = std::getenv("TAPEDECK_EMULATED_GPU_MEMORY");
    return text ? static_cast<std::size_t>(std::strtoull(text, nullptr, 10)) : std::size_t{2} << 30;
  }();
  return bytes;
}

struct Block {
  std::size_t bytes = 0;
  bool prepared = false;  ///< the stream has got to its beginning
  bool freed = false;     ///< the stream has still to get to its end
};
}  // namespace

struct Pool {
  char* base = nullptr;
  std::size_t reserved_address = 0;
  std::size_t touched = 0;  ///< of the addresses, from the base, those that were ever given
  std::map<char*, Block> blocks;
  char* next_checked = nullptr;        ///< where the next look at redzones begins
  std::map<char*, std::size_t> holes;  ///< within what was touched
  std::size_t used = 0, reserved = 0;
  int opened = 0;
  std::size_t open_bytes = 0;

  Pool() {
    reserved_address = std::max<std::size_t>(4 * limit(), std::size_t{1} << 30);
    void* place =
        mmap(nullptr, reserved_address, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) die("no room for the addresses of a device");
    base = static_cast<char*>(place);
  }

  void protect(int protection) {
    constexpr std::size_t page = 4096;
    if (protection != PROT_NONE) open_bytes = (touched + page - 1) / page * page;
    if (open_bytes > 0 && mprotect(base, open_bytes, protection) != 0) die("mprotect failed");
  }

  /// With the redzones.
  char* take(std::size_t bytes) {
    for (auto hole = holes.begin(); hole != holes.end(); ++hole)
      if (hole->second >= bytes) {
        char* const place = hole->first;
        const std::size_t rest = hole->second - bytes;
        holes.erase(hole);
        if (rest > 0) holes[place + bytes] = rest;
        return place;
      }
    if (touched + bytes > reserved_address) return nullptr;
    char* const place = base + touched;
    touched += bytes;
    if (opened > 0) protect(PROT_READ | PROT_WRITE);
    return place;
  }
  void give(char* place, std::size_t bytes) {
    auto next = holes.lower_bound(place);
    if (next != holes.end() && place + bytes == next->first) {
      bytes += next->second;
      next = holes.erase(next);
    }
    if (next != holes.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == place) {
        before->second += bytes;
        return;
      }
    }
    holes[place] = bytes;
  }
};

namespace {

Pool* pools() {
  static auto* const instance = new Pool[device_count];
  return instance;
}
std::map<const char*, std::size_t>& pinned() {
  static auto* const instance = new std::map<const char*, std::size_t>;
  return *instance;
}

bool is_whole(const char* place) {
  for (std::size_t i = 0; i < redzone; ++i)
    if (static_cast<unsigned char>(place[i]) != redzone_byte) return false;
  return true;
}
void mark_redzone(char* place, std::size_t bytes) {
  std::memset(place, redzone_byte, bytes);
  ASAN_POISON_MEMORY_REGION(place, bytes);
}
[[gnu::no_sanitize("address")]] void check_redzone(char* data, const Block& block, const std::string& after) {
  const std::size_t slack = rounded(block.bytes) - block.bytes;
  ASAN_UNPOISON_MEMORY_REGION(data - redzone, redzone);
  ASAN_UNPOISON_MEMORY_REGION(data + block.bytes, slack + redzone);
  bool whole = is_whole(data - redzone) && is_whole(data + block.bytes + slack);
  for (std::size_t i = 0; i < slack; ++i)
    whole = whole && static_cast<unsigned char>(data[block.bytes + i]) == redzone_byte;
  if (!whole) {
    std::ostringstream text;
    text << after << " wrote past the end, or before the beginning, of an allocation of " << block.bytes
         << " bytes";
    die(text.str());
  }
  ASAN_POISON_MEMORY_REGION(data - redzone, redzone);
  ASAN_POISON_MEMORY_REGION(data + block.bytes, slack + redzone);
}

}  // namespace

static std::uint64_t to_host = 0;

int device_of(const void* place) {
  const auto* at = static_cast<const char*>(place);
  for (int device = 0; device < device_count; ++device) {
    const Pool& pool = pools()[device];
    if (at >= pool.base && at < pool.base + pool.reserved_address) return device;
  }
  return -1;
}
bool is_pinned(const void* place) {
  const auto* at = static_cast<const char*>(place);
  auto after = pinned().upper_bound(at);
  if (after == pinned().begin()) return false;
  --after;
  return at < after->first + after->second;
}

OpenMemory::OpenMemory(int device) : device_(device) {
  Pool& pool = pools()[device];
  if (pool.opened++ == 0) pool.protect(PROT_READ | PROT_WRITE);
}
OpenMemory::~OpenMemory() {
  Pool& pool = pools()[device_];
  if (--pool.opened == 0) pool.protect(PROT_NONE);
}

void check_redzones(int device, const char* after) {
  Pool& pool = pools()[device];
  const bool all = pool.blocks.size() <= few_blocks;
  const std::string culprit = all ? after : std::string(after) + ", or something before it,";
  auto block = pool.blocks.lower_bound(pool.next_checked);
  for (std::size_t i = std::min(few_blocks, pool.blocks.size()); i > 0; --i, ++block) {
    if (block == pool.blocks.end()) block = pool.blocks.begin();
    if (block->second.prepared) check_redzone(block->first, block->second, culprit);
  }
  pool.next_checked = block == pool.blocks.end() ? nullptr : block->first;
}

std::string leaks() {
  std::lock_guard lock(mutex());
  std::ostringstream text;
  for (int device = 0; device < device_count; ++device)
    for (const auto& [data, block] : pools()[device].blocks)
      if (!block.freed) text << "device " << device << ": " << block.bytes << " bytes\n";
  for (const Kind kind : {Kind::products, Kind::solver, Kind::solver_parameters})
    if (made(kind) > made(Kind::stream))
      text << "more handles of cuBLAS or cuSOLVER than streams: " << kept() << '\n';
  if (made(Kind::solver_info) > 0) text << made(Kind::solver_info) << " infos of cuSOLVER\n";
  return text.str();
}

}  // namespace emulation

using namespace emulation;

unsigned long long tapedeck_emulated_bytes_to_host() {
  std::lock_guard lock(mutex());
  return to_host;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  *pool = &pools()[device];
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  std::lock_guard lock(mutex());
  *static_cast<std::uint64_t*>(value) =
      attribute == cudaMemPoolAttrUsedMemCurrent ? pool->used : pool->reserved;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  std::lock_guard lock(mutex());
  pool->reserved = std::max(pool->used, std::min(pool->reserved, bytes));
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  std::lock_guard lock(mutex());
  int device = 0;
  cudaGetDevice(&device);
  *total = limit();
  *free = limit() - std::min(limit(), pools()[device].reserved);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** place, std::size_t bytes, cudaStream_t stream) {
  std::lock_guard lock(mutex());
  if (error_of(stream->device) != cudaSuccess) return error_of(stream->device);
  Pool& pool = pools()[stream->device];
  const std::size_t size = rounded(std::max<std::size_t>(bytes, 1));
  if (bytes > limit()) return cudaErrorMemoryAllocation;
  if (pool.used + size > limit()) run_all(stream->device);  // what was freed comes back
  if (pool.used + size > limit()) return cudaErrorMemoryAllocation;
  char* const begin = pool.take(size + 2 * redzone);
  if (!begin) return cudaErrorMemoryAllocation;
  char* const data = begin + redzone;
  pool.blocks[data] = Block{.bytes = bytes};
  pool.used += size;
  pool.reserved = std::max(pool.reserved, pool.used);
  enqueue(stream, "an allocation", [&pool, data, bytes, size] {
    ASAN_UNPOISON_MEMORY_REGION(data - redzone, size + 2 * redzone);
    std::memset(data, empty_byte, bytes);
    mark_redzone(data - redzone, redzone);
    mark_redzone(data + bytes, size - bytes + redzone);
    pool.blocks[data].prepared = true;
  });
  *place = data;
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* place, cudaStream_t stream) {
  std::lock_guard lock(mutex());
  Pool& pool = pools()[stream->device];
  auto* const data = static_cast<char*>(place);
  const auto found = pool.blocks.find(data);
  if (found == pool.blocks.end()) die("free of what was not allocated on this device");
  if (found->second.freed) die("a second free of the same memory");
  found->second.freed = true;
  enqueue(stream, "free", [&pool, data] {
    const Block block = pool.blocks[data];
    check_redzone(data, block, "something before a free");
    const std::size_t size = rounded(std::max<std::size_t>(block.bytes, 1));
    ASAN_UNPOISON_MEMORY_REGION(data - redzone, size + 2 * redzone);
    std::memset(data, empty_byte, size);
    ASAN_POISON_MEMORY_REGION(data - redzone, size + 2 * redzone);
    pool.blocks.erase(data);
    pool.used -= size;
    pool.give(data - redzone, size + 2 * redzone);
  });
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned) {
  std::lock_guard lock(mutex());
  *place = ::operator new (bytes, std::align_val_t{alignment});
  pinned()[static_cast<char*>(*place)] = bytes;
  count_made(Kind::pinned, 1);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* place) {
  std::lock_guard lock(mutex());
  pinned().erase(static_cast<char*>(place));
  count_made(Kind::pinned, -1);
  ::operator delete (place, std::align_val_t{alignment});
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  std::lock_guard lock(mutex());
  if (error_of(stream->device) != cudaSuccess) return error_of(stream->device);
  if (device_of(from) < 0 && !is_pinned(from)) {  // read before the call returns
    const auto* first = static_cast<const char*>(from);
    enqueue(stream, "a copy to the device", [to, copy = std::vector<char>(first, first + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
    return cudaSuccess;
  }
  enqueue(stream, "a copy", [to, from, bytes] { std::memcpy(to, from, bytes); });
  if (device_of(from) >= 0 && device_of(to) < 0) to_host += bytes;
  if (device_of(to) < 0 && !is_pinned(to)) return cudaStreamSynchronize(stream);
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  enqueue(stream, "a copy between devices", [=] {
    const OpenMemory target(to_device), source(from_device);
    std::memcpy(to, from, bytes);
  });
  return error_of(stream->device);
}
cudaError_t cudaMemsetAsync(void* place, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes > 0) enqueue(stream, "memset", [=] { std::memset(place, value, bytes); });
  return error_of(stream->device);
}
