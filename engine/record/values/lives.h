// When the program allocated and released the memory of tensors, whatever the recorder itself still holds.
#pragma once

#include "engine/record/trace/trace.h"
#include "engine/record/values/memory_log.h"

namespace tapedeck {

/// Marks storages when the recorder first sees them, and notes when the program has released them: a few
/// nanoseconds each. Thread-safe.
class Lives final : public StorageListener {
 public:
  Lives(Trace& trace, MemoryLog& log) : trace_(trace), log_(log) {}
  /// To be called after the table knows the tensor.
  void note_result(const Tensor& tensor) { note(tensor); }
  /// A value that no op made. Does nothing if it is already noted.
  void note_leaf(const Tensor& tensor);
  void released(std::uint64_t mark) noexcept override {
    trace_.tensors().set_gone(mark, trace_.newest() + 1);
  }

 private:
  /// Returns whether the tensor is a new root.
  bool note(const Tensor& tensor) {
    Storage& storage = *tensor.storage().get();
    if (storage.mark() != 0) [[unlikely]]
      return note_again(tensor, storage);
    storage.set_mark(tensor.id());
    if (storage.size() != tensor.bytes()) [[unlikely]]
      log_.set_size(tensor.id(), storage.size(), storage.borrowed());
    return true;
  }
  bool note_again(const Tensor& tensor, Storage& storage);

  Trace& trace_;
  MemoryLog& log_;
};

}  // namespace tapedeck
