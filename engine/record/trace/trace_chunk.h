// A trace's records in memory. Private to its files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "engine/record/trace/trace.h"

namespace tapedeck {

/// One record. Ids are stored inline if they fit, else in a separate allocation at the first inline place.
struct Trace::Slot {
  RecordHead head;
  std::int64_t duration = 0;  ///< ticks
  std::uint32_t inputs = 0, outputs = 0;
  static constexpr std::size_t places = 4;
  std::uint64_t tensors[places] = {};

  /// Tensors, or ids. Both return the size of the separate allocation.
  template <class T>
  std::uint64_t set_inputs(std::span<const T> all) {
    inputs = static_cast<std::uint32_t>(all.size());
    return store(tensors, input_places, all);
  }
  /// After the inputs.
  template <class T>
  std::uint64_t set_outputs(std::span<const T> all) {
    outputs = static_cast<std::uint32_t>(all.size());
    const std::size_t used = used_places();
    return store(tensors + used, places - used, all);
  }
  const std::uint64_t* input_ids() const { return ids(tensors, input_places, inputs); }
  const std::uint64_t* output_ids() const {
    return ids(tensors + used_places(), places - used_places(), outputs);
  }
  ~Slot() {
    if (inputs > input_places) delete[] input_ids();
    if (outputs > places - used_places()) delete[] output_ids();
  }

 private:
  /// One place is always reserved for the outputs.
  static constexpr std::size_t input_places = places - 1;
  std::size_t used_places() const { return inputs <= input_places ? inputs : 1; }
  static std::uint64_t id_of(const Tensor& tensor) { return tensor ? tensor.id() : 0; }
  static std::uint64_t id_of(std::uint64_t id) { return id; }
  template <class T>
  static std::uint64_t store(std::uint64_t* at, std::size_t available, std::span<const T> all) {
    std::uint64_t* target = at;
    if (all.size() > available) {
      target = new std::uint64_t[all.size()];
      *at = reinterpret_cast<std::uint64_t>(target);
    }
    for (std::size_t i = 0; i < all.size(); ++i) target[i] = id_of(all[i]);
    return target == at ? 0 : all.size() * sizeof(std::uint64_t);
  }
  static const std::uint64_t* ids(const std::uint64_t* at, std::size_t available, std::size_t count) {
    return count <= available ? at : reinterpret_cast<const std::uint64_t*>(*at);
  }
};

/// Two megabytes of zeros from the system, one huge page if available: a page fault for every 4 kB would cost
/// as much as writing the records. A slot is constructed when its record begins.
class Trace::Chunk {
 public:
  static constexpr std::uint32_t size = page_size;  ///< records
  static Chunk* make();
  /// Makes the system provide the memory now.
  void touch() {
    for (std::size_t i = 0; i < sizeof(slots_); i += 4096)
      const_cast<volatile std::byte&>(slots_[i]) = std::byte{0};
  }
  static void destroy(Chunk* chunk);

  /// Tensors older than all of its records have ids up to this.
  std::uint64_t newest_tensor_before = 0;
  /// Of ids in separate allocations.
  std::atomic<std::uint64_t> extra_bytes{0};
  /// Of a chunk that was read from a file: its errors by record; key 0 has the error of the whole page.
  /// nullptr if there are none.
  std::map<std::uint32_t, std::string>* errors = nullptr;
  /// Sets when a GPU did a record's work; allocated on first use. Returns how many bytes that took.
  std::uint64_t set_device_time(std::uint32_t number, const DeviceTime& time);
  DeviceTime device_time(std::uint32_t number) const;
  const std::string* error_of(std::uint32_t number) const {
    if (!errors) return nullptr;
    auto found = errors->find(number);
    if (found == errors->end()) found = errors->find(0);
    return found == errors->end() ? nullptr : &found->second;
  }

  Slot& slot(std::uint32_t number) {
    return *std::launder(reinterpret_cast<Slot*>(slots_ + sizeof(Slot) * (number % size)));
  }
  void construct(std::uint32_t number) { new (slots_ + sizeof(Slot) * (number % size)) Slot; }
  void publish(std::uint32_t number, RecordState state) {
    states_[number % size].store(static_cast<std::uint8_t>(state) + 1, std::memory_order_release);
  }
  /// nullopt if the record is not written yet.
  std::optional<RecordState> state(std::uint32_t number) const {
    const std::uint8_t stored = states_[number % size].load(std::memory_order_acquire);
    return stored == 0 ? std::nullopt : std::optional(static_cast<RecordState>(stored - 1));
  }

 private:
  /// The state is written last.
  struct DeviceSlot {
    std::atomic<std::int64_t> start, duration;
    std::atomic<std::uint8_t> gpu, state;
  };
  std::atomic<DeviceSlot*> device_slots_;
  std::atomic<std::uint8_t> states_[size];  ///< 0: not written; else the state, plus 1
  alignas(Slot) std::byte slots_[sizeof(Slot) * size];
};

}  // namespace tapedeck
