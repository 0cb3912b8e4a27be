// When the memory of tensors came and went in the program, whatever the recorder itself still holds.
#pragma once

#include "engine/record/trace/trace.h"
#include "engine/record/values/memory_log.h"

namespace tapedeck {

/// Marks storages when the recorder first sees them, and notes when the program has let them go: a few
/// nanoseconds each. Any thread may call.
class Lives final : public StorageListener {
 public:
  Lives(Trace& trace, MemoryLog& log) : trace_(trace), log_(log) {}
  /// After the table knows the tensor.
  void note_result(const Tensor& tensor) { note(tensor); }
  /// A value that no op made. Those that were noted before are let be.
  void note_leaf(const Tensor& tensor);
  void let_go(std::uint64_t mark) noexcept override { trace_.tensors().set_gone(mark, trace_.newest() + 1); }

 private:
  /// True: the tensor is a root that was not known yet.
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
