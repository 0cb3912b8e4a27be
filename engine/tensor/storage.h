// Memory of tensors: reference-counted blocks from a pool.
//
// Freed blocks stay in the pool by size class, because fresh memory must be mapped by the system page by page
// (7 to 12 GB/s) while pooled memory is warm. A block returns to the pool as soon as its last reference is
// released; a large one (above 64 KiB) that stays unused for about a second returns to the system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/tensor/device.h"

namespace tapedeck {

struct DeviceBlock;

class Storage {
 public:
  using Release = void (*)(void* owner);

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }  ///< bytes requested
  Device device() const { return device_; }
  /// True if something else owns the memory (a NumPy array): never write to it.
  bool borrowed() const { return borrowed_; }
  /// The owner passed to keep(), which lives as long as the storage; nullptr if there is none.
  void* kept() const { return borrowed_ || device_.kind != DeviceKind::cpu ? nullptr : owner_; }
  /// Its block of device memory; nullptr on the CPU.
  DeviceBlock* device_block() const {
    return device_.kind == DeviceKind::cpu ? nullptr : static_cast<DeviceBlock*>(owner_);
  }
  /// For a storage that owns its memory: calls `release(owner)` when the last reference goes; releases a
  /// previous owner now. To be called before the storage is shared.
  void keep(void* owner, Release release);
  void retain() {
    if (static_cast<std::uint32_t>(references_.fetch_add(1, std::memory_order_relaxed)) == 0) [[unlikely]]
      references_.fetch_add(observer_reference, std::memory_order_relaxed);
  }
  void drop() {
    const std::uint64_t before = references_.fetch_sub(1, std::memory_order_acq_rel);
    if (static_cast<std::uint32_t>(before) != 1) return;
    if (before == (observer_reference | 1) && mark() == 0)
      destroy();
    else
      release_by_program(before);
  }
  /// References of observers (the recorder) are counted separately, so that it is known when the program
  /// released the storage.
  void retain_as_observer() { references_.fetch_add(observer_reference, std::memory_order_relaxed); }
  void release_as_observer() {
    if (references_.fetch_sub(observer_reference, std::memory_order_acq_rel) >> 32 == 1) destroy();
  }
  /// All references, observers' included.
  std::uint32_t references() const {
    const std::uint64_t both = references_.load(std::memory_order_acquire);
    const auto program = static_cast<std::uint32_t>(both);
    return program + static_cast<std::uint32_t>(both >> 32) - (program > 0 ? 1 : 0);
  }

  /// What the listener gets when the program releases the storage; 0: no notification.
  std::uint64_t mark() const { return mark_.load(std::memory_order_relaxed); }
  void set_mark(std::uint64_t mark) { mark_.store(mark, std::memory_order_relaxed); }
  /// Whether the program has released it while observers still hold it.
  bool is_released() const { return released_.load(std::memory_order_relaxed); }
  /// The program holds it again, having got it from an observer.
  void take_back();

 private:
  friend class StoragePointer;
  friend struct StoragePool;
  Storage() = default;
  void destroy();
  void release_by_program(std::uint64_t before);

  /// The lower half counts the program's references, the upper half the observers'. All of the program's
  /// references together hold one in the upper half, which keeps the storage alive until they are released.
  static constexpr std::uint64_t observer_reference = std::uint64_t{1} << 32;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  Release release_ = nullptr;
  void* owner_ = nullptr;
  std::atomic<std::uint64_t> references_{observer_reference | 1};
  std::atomic<std::uint64_t> mark_{0};
  Device device_;
  bool borrowed_ = false;
  std::atomic<bool> released_{false};
};

/// Gets a callback when the program's last reference to a marked storage is released.
class StorageListener {
 public:
  /// Called on any thread, at any time; must not touch storages.
  virtual void released(std::uint64_t mark) noexcept = 0;

 protected:
  ~StorageListener() = default;
};
/// nullptr: no listener. The listener must outlive every release of a marked storage.
void set_storage_listener(StorageListener* listener);
StorageListener* storage_listener();

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

  /// Uninitialised memory, aligned to 64 bytes. Throws ResourceExhaustedError ("needs 7.2 TB, …") instead of
  /// requesting more from the system than the machine has.
  static StoragePointer allocate(std::size_t bytes, Device device = {});
  /// Memory owned by something else, read-only; `release(owner)` is called when the last reference goes.
  static StoragePointer borrow(const void* data, std::size_t bytes, Storage::Release release, void* owner);

  /// The raw storage, with and without taking a reference.
  static StoragePointer adopt(Storage* storage) { return StoragePointer(storage); }
  Storage* detach() { return std::exchange(storage_, nullptr); }

 private:
  explicit StoragePointer(Storage* storage) : storage_(storage) {}
  Storage* storage_ = nullptr;
};

struct PoolStatistics {
  std::uint64_t bytes_in_use = 0;  ///< in storages with a reference
  std::uint64_t bytes_cached = 0;  ///< free, waiting in the pool
  std::uint64_t peak_bytes_in_use = 0;
};
PoolStatistics pool_statistics();
/// Sets the peak to what is in use now.
void reset_pool_peak();
/// Of the bytes in use: those that only observers hold.
std::uint64_t bytes_of_observers();
/// Returns cached memory to the system now.
void trim_pool();

}  // namespace tapedeck
