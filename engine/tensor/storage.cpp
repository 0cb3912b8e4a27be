#include "engine/tensor/storage.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/tensor/block_pool.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/error.h"
#include "engine/tensor/foreign_devices.h"
#include "engine/tensor/observer_memory.h"

namespace tapedeck {

/// A storage shares one block with its bytes: the header first, the bytes from the next cache line on.
struct StoragePool {
  static constexpr std::size_t header = detail::block_alignment;

  static Storage* make(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2)
      fail<ResourceExhaustedError>("needs ", detail::readable_bytes(bytes), ", the machine has ",
                                   detail::readable_bytes(detail::machine_memory()));
    void* block = detail::allocate_block(bytes + header);
    auto* storage = new (block) Storage;
    storage->capacity_ = bytes + header;
    storage->data_ = static_cast<std::byte*>(block) + header;
    storage->size_ = bytes;
    return storage;
  }

  /// A header in host memory, and a block of device memory.
  static Storage* make_on(Device device, std::size_t bytes) {
    if (int{device.index} >= gpu_count())
      fail<NotFoundError>("no device ", to_string(device), ": this machine has ", gpu_count(),
                          " GPUs that this build can use");
    DeviceBlock* block = device_memory(device).allocate(bytes);
    Storage* storage = make(0);
    storage->device_ = device;
    storage->data_ = static_cast<std::byte*>(block->data);
    storage->size_ = bytes;
    storage->owner_ = block;
    storage->release_ = [](void* owner) {
      auto* device_block = static_cast<DeviceBlock*>(owner);
      device_block->memory->free(device_block);
    };
    return storage;
  }

  static Storage* make_foreign(Device device, std::size_t bytes, Storage::Release release, void* owner) {
    Storage* storage = make(0);
    set_owner(*storage, nullptr, bytes, &release_foreign,
              static_cast<DeviceBlock*>(new ForeignBlock{{nullptr, nullptr, bytes}, release, owner}));
    storage->device_ = device;
    return storage;
  }

  /// It has no DeviceMemory: the engine's kernels are given copies on the host.
  struct ForeignBlock : DeviceBlock {
    Storage::Release release;
    void* owner;
  };
  static void release_foreign(void* owner) {
    auto* block = static_cast<ForeignBlock*>(static_cast<DeviceBlock*>(owner));
    block->release(block->owner);
    delete block;
  }

  static void set_owner(Storage& storage, const void* data, std::size_t bytes, Storage::Release release,
                        void* owner) {
    storage.data_ = static_cast<std::byte*>(const_cast<void*>(data));
    storage.size_ = bytes;
    storage.release_ = release;
    storage.owner_ = owner;
    storage.borrowed_ = true;
  }
};
static_assert(sizeof(Storage) <= StoragePool::header);

namespace {

constinit std::atomic<StorageListener*> listener{nullptr};
constinit std::atomic<std::int64_t> observers_bytes{0};
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_observes = false;

}  // namespace

ObserverMemory::ObserverMemory() : before_(std::exchange(thread_observes, true)) {}
ObserverMemory::~ObserverMemory() {
  thread_observes = before_;
}

void set_storage_listener(StorageListener* new_listener) {
  listener.store(new_listener, std::memory_order_release);
}
StorageListener* storage_listener() {
  return listener.load(std::memory_order_acquire);
}

std::uint64_t bytes_of_observers() {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(observers_bytes.load(std::memory_order_relaxed), 0));
}

// Only the first time: storage that an observer lends out for a moment has already been released.
void Storage::release_by_program(std::uint64_t before) {
  const std::uint64_t mark = mark_.load(std::memory_order_relaxed);
  if (before == (observer_reference | 1)) {
    if (mark != 0 && !released_.load(std::memory_order_relaxed))
      if (StorageListener* listening = listener.load(std::memory_order_acquire)) listening->released(mark);
    return destroy();
  }
  if (!released_.exchange(true, std::memory_order_relaxed)) {
    if (!borrowed_) observers_bytes.fetch_add(static_cast<std::int64_t>(size_), std::memory_order_relaxed);
    if (mark != 0)
      if (StorageListener* listening = listener.load(std::memory_order_acquire)) listening->released(mark);
  }
  release_as_observer();
}

void Storage::take_back() {
  if (released_.exchange(false, std::memory_order_relaxed) && !borrowed_)
    observers_bytes.fetch_sub(static_cast<std::int64_t>(size_), std::memory_order_relaxed);
}

void Storage::destroy() {
  if (released_.load(std::memory_order_relaxed)) take_back();
  if (release_) release_(owner_);
  if (!borrowed_ && device_.kind == DeviceKind::cpu)
    detail::account_in_use(-static_cast<std::int64_t>(size_));
  const std::size_t block_bytes = capacity_;
  this->~Storage();
  detail::free_block(this, block_bytes);
}

void Storage::keep(void* owner, Release release) {
  if (release_) release_(owner_);
  owner_ = owner;
  release_ = release;
}

StoragePointer StoragePointer::allocate(std::size_t bytes, Device device) {
  const bool on_cpu = device.kind == DeviceKind::cpu;
  Storage* storage = on_cpu ? StoragePool::make(bytes) : StoragePool::make_on(device, bytes);
  if (on_cpu) detail::account_in_use(static_cast<std::int64_t>(bytes));
  if (thread_observes) [[unlikely]] {
    storage->released_.store(true, std::memory_order_relaxed);
    observers_bytes.fetch_add(static_cast<std::int64_t>(storage->size_), std::memory_order_relaxed);
  }
  return StoragePointer(storage);
}

StoragePointer StoragePointer::borrow(const void* data, std::size_t bytes, Storage::Release release,
                                      void* owner) {
  // A storage without a release function would be treated as owning its memory.
  if (!release) release = [](void*) {};
  Storage* storage = StoragePool::make(0);
  StoragePool::set_owner(*storage, data, bytes, release, owner);
  return StoragePointer(storage);
}

StoragePointer foreign_storage(Device device, std::size_t bytes, Storage::Release release, void* owner) {
  return StoragePointer::adopt(StoragePool::make_foreign(device, bytes, release, owner));
}

void* foreign_owner(const Storage& storage) {
  return static_cast<StoragePool::ForeignBlock*>(storage.device_block())->owner;
}

}  // namespace tapedeck
