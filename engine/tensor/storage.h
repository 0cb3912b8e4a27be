// Memory of tensors: reference-counted blocks from a pool.
//
// Freed blocks stay in the pool by size class, because fresh memory must be mapped by the system page by page
// (7 to 12 GB/s) while pooled memory is warm. A block goes back to the pool when its last holder lets go, at
// once; a large one (above 64 KiB) that nobody wants for about a second goes on to the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/tensor/device.h"

namespace tapedeck {

class Storage {
 public:
  using Release = void (*)(void* owner);

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }  ///< bytes asked for
  Device device() const { return device_; }
  /// True where the memory belongs to someone else (a NumPy array): never write to it.
  bool borrowed() const { return borrowed_; }
  /// What lives as long as the storage, given to keep(); nullptr where there is none.
  void* kept() const { return borrowed_ ? nullptr : owner_; }
  /// Of a storage of its own memory: calls `release(owner)` when the last holder lets go; what was kept
  /// before is released now. To be called while nobody else knows the storage.
  void keep(void* owner, Release release);
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  std::uint32_t references() const { return references_.load(std::memory_order_acquire); }

 private:
  friend class StoragePointer;
  friend struct StoragePool;
  Storage() = default;
  void destroy();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  Release release_ = nullptr;
  void* owner_ = nullptr;
  std::atomic<std::uint32_t> references_{1};
  Device device_;
  bool borrowed_ = false;
};

/// Owning pointer to a Storage.
class StoragePointer {
 public:
  StoragePointer() = default;
  StoragePointer(const StoragePointer& other) : storage_(other.storage_) {
    if (storage_) storage_->retain();
  }
  StoragePointer(StoragePointer&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StoragePointer& operator=(StoragePointer other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StoragePointer() {
    if (storage_) storage_->drop();
  }
  Storage* operator->() const { return storage_; }
  Storage* get() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }

  /// Uninitialised memory, aligned to 64 bytes. Throws ResourceExhaustedError ("needs 7.2 TB, …") rather than
  /// asking the system for more than the machine has.
  static StoragePointer allocate(std::size_t bytes, Device device = {});
  /// Memory of somebody else, read only, released by `release(owner)` when the last holder lets go.
  static StoragePointer borrow(const void* data, std::size_t bytes, Storage::Release release, void* owner);

 private:
  explicit StoragePointer(Storage* storage) : storage_(storage) {}
  Storage* storage_ = nullptr;
};

struct PoolStatistics {
  std::uint64_t bytes_in_use = 0;  ///< in storages that somebody holds
  std::uint64_t bytes_cached = 0;  ///< free, waiting in the pool
  std::uint64_t peak_bytes_in_use = 0;
};
PoolStatistics pool_statistics();
/// Gives cached memory back to the system now.
void trim_pool();

}  // namespace tapedeck
