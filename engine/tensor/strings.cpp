#include "engine/tensor/strings.h"

#include <algorithm>
#include <cstring>

#include "engine/tensor/block_pool.h"
#include "engine/tensor/strided_copy.h"

namespace tapedeck {
namespace {

/// The blocks that a storage of strings keeps alive.
struct Kept {
  std::vector<StoragePointer> blocks;
  std::size_t bytes = 0;
  bool complete = false;  ///< every view points into the blocks, and no more are written
};

const Kept* kept_by(const Storage& storage) {
  return static_cast<const Kept*>(storage.kept());
}

void keep(Storage& storage, Kept kept) {
  storage.keep(new Kept(std::move(kept)), [](void* owner) { delete static_cast<Kept*>(owner); });
}

std::span<std::string_view> views_in(const Storage& storage) {
  return {reinterpret_cast<std::string_view*>(storage.data()), storage.size() / sizeof(std::string_view)};
}

std::size_t total_size(std::span<const std::string_view> views) {
  std::size_t bytes = 0;
  for (const std::string_view view : views) bytes += view.size();
  return bytes;
}

/// Copies the bytes of every view into one block, and updates the views.
void own_bytes(Storage& storage) {
  const std::span<std::string_view> views = views_in(storage);
  Kept kept;
  kept.bytes = total_size(views);
  kept.complete = true;
  if (kept.bytes > 0) {
    kept.blocks.push_back(StoragePointer::allocate(kept.bytes, storage.device()));
    char* target = reinterpret_cast<char*>(kept.blocks[0]->data());
    for (std::string_view& view : views) {
      if (view.empty()) continue;
      std::memcpy(target, view.data(), view.size());
      view = {target, view.size()};
      target += view.size();
    }
  }
  keep(storage, std::move(kept));
}

void add_block(Kept& kept, const StoragePointer& block) {
  for (const StoragePointer& known : kept.blocks)
    if (known.get() == block.get()) return;
  kept.blocks.push_back(block);
  kept.bytes += block->size();
}

bool is_printable(unsigned char byte) {
  return byte >= 0x20 && byte < 0x7f;
}

}  // namespace

Tensor string_tensor(const Shape& shape, std::span<const std::string_view> values) {
  Tensor tensor = Tensor::allocate(DType::string, shape, Device{});
  if (static_cast<std::int64_t>(values.size()) != tensor.count())
    fail<InvalidArgumentError>("shape ", to_string(shape), " holds ", tensor.count(), " values, not ",
                               values.size());
  std::copy(values.begin(), values.end(), tensor.writable_data<std::string_view>());
  own_bytes(*tensor.storage().get());
  return tensor;
}

Tensor string_tensor(const Shape& shape, const std::vector<std::string>& values) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  return string_tensor(shape, views);
}

std::vector<std::string_view> strings_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::string)
    fail<TypeMismatchError>("a tensor of dtype ", dtype_name(tensor.dtype()), " where strings are expected");
  constexpr std::uint64_t each = 64;  // bytes of memory, including what is made from the elements
  if (static_cast<std::uint64_t>(tensor.count()) > detail::machine_memory() / each)
    fail<ResourceExhaustedError>("a string tensor of shape ", to_string(tensor.shape()),
                                 " needs more memory than the ",
                                 detail::readable_bytes(detail::machine_memory()), " of the machine");
  std::vector<std::string_view> values(static_cast<std::size_t>(tensor.count()));
  if (!values.empty())
    detail::copy_to_contiguous(tensor.raw(), tensor.shape(), tensor.strides(), sizeof(std::string_view),
                               reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::string_view string_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::string || tensor.count() != 1)
    fail<InvalidArgumentError>("a ", dtype_name(tensor.dtype()), " tensor of shape ",
                               to_string(tensor.shape()), " where one string is expected");
  return *tensor.data<std::string_view>();
}

void share_strings(Storage& storage, std::span<const Tensor> sources) {
  if (const Kept* own = kept_by(storage); own && own->complete) return;
  Kept kept;
  if (const Kept* own = kept_by(storage)) kept = *own;
  for (const Tensor& source : sources) {
    if (source.dtype() != DType::string) continue;
    if (source.storage().get() == &storage) return;
    if (const Kept* others = kept_by(*source.storage().get()))
      for (const StoragePointer& block : others->blocks) add_block(kept, block);
  }
  constexpr std::size_t most_blocks = 16, slack = 65536;
  if (kept.blocks.size() > most_blocks || kept.bytes > 2 * total_size(views_in(storage)) + slack)
    own_bytes(storage);
  else
    keep(storage, std::move(kept));
}

std::string bytes_literal(std::string_view bytes, std::size_t most) {
  const char quote = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos ? '"' : '\'';
  constexpr const char* digits = "0123456789abcdef";
  std::string text = {'b', quote};
  for (const char byte : bytes.substr(0, most)) {
    const auto value = static_cast<unsigned char>(byte);
    if (byte == quote || byte == '\\')
      text += {'\\', byte};
    else if (byte == '\n')
      text += "\\n";
    else if (byte == '\r')
      text += "\\r";
    else if (byte == '\t')
      text += "\\t";
    else if (is_printable(value))
      text += byte;
    else
      text += {'\\', 'x', digits[value >> 4], digits[value & 15]};
  }
  if (bytes.size() > most) text += "…";
  return text + quote;
}

}  // namespace tapedeck
