#include "engine/record/values/lives.h"

namespace tapedeck {

void Lives::note_leaf(const Tensor& tensor) {
  Storage& storage = *tensor.storage().get();
  const bool is_new = storage.mark() == 0;
  if (is_new) storage.take_back();  // a value that an observer made, and gives to the program
  if (!note(tensor)) return;
  if (is_new && storage.borrowed()) log_.set_size(tensor.id(), storage.size(), true);
  log_.add({tensor.id(), 0, trace_.newest(), MemoryEventKind::arrived});
}

// A view, or a storage that an earlier recorder marked or the table forgot.
bool Lives::note_again(const Tensor& tensor, Storage& storage) {
  TensorTable& table = trace_.tensors();
  const std::uint64_t root = storage.mark();
  bool is_root = root == tensor.id();
  const bool known = is_root || (table.get(root).known() && table.set_root(tensor.id(), root));
  if (!known) {
    storage.set_mark(tensor.id());
    if (storage.size() != tensor.bytes() || storage.borrowed())
      log_.set_size(tensor.id(), storage.size(), storage.borrowed());
    is_root = true;
  }
  if (storage.is_released()) {
    storage.take_back();
    table.set_gone(storage.mark(), 0);
  }
  return is_root;
}

}  // namespace tapedeck
