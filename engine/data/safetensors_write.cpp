#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/data/safetensors.h"
#include "engine/data/safetensors_dtypes.h"

namespace tapedeck::data {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

namespace {

// The strictest alignment first, as the format's own writer has it: then each tensor is aligned in a mapped
// file.
std::vector<const NamedTensor*> in_order(std::span<const NamedTensor> tensors, const std::string& path) {
  std::vector<const NamedTensor*> sorted;
  std::set<std::string_view> names;
  for (const NamedTensor& each : tensors) {
    const std::string where = "cannot write " + path + ": tensor \"" + each.name + "\": ";
    if (each.name == "__metadata__") fail<InvalidArgumentError>(where, "the format reserves that name");
    if (!names.insert(each.name).second) fail<InvalidArgumentError>(where, "the name occurs twice");
    if (!each.tensor) fail<InvalidArgumentError>(where, "it is undefined");
    if (!safetensors_name(each.tensor.dtype()))
      fail<InvalidArgumentError>(where, "the format has no dtype for ", dtype_name(each.tensor.dtype()));
    sorted.push_back(&each);
  }
  std::sort(sorted.begin(), sorted.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const std::size_t first = item_size(a->tensor.dtype()), second = item_size(b->tensor.dtype());
    return first != second ? first > second : a->name < b->name;
  });
  return sorted;
}

std::string quoted(const std::string& text, const std::string& path) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {  // it looks at the UTF-8
    fail<InvalidArgumentError>("cannot write ", path, ": a name or metadata that is not UTF-8");
  }
}

std::string header_of(std::span<const NamedTensor* const> sorted, const Metadata& metadata,
                      const std::string& path) {
  std::string text = "{";
  const auto begin_entry = [&](const std::string& name) {
    if (text.size() > 1) text += ',';
    text += quoted(name, path) + ':';
  };
  if (!metadata.empty()) {
    begin_entry("__metadata__");
    text += '{';
    for (const auto& [key, value] : metadata) {
      if (text.back() != '{') text += ',';
      text += quoted(key, path) + ':' + quoted(value, path);
    }
    text += '}';
  }
  std::uint64_t offset = 0;
  for (const NamedTensor* each : sorted) {
    begin_entry(each->name);
    text += "{\"dtype\":\"" + *safetensors_name(each->tensor.dtype()) + "\",\"shape\":[";
    for (int axis = 0; axis < each->tensor.rank(); ++axis)
      text += (axis ? "," : "") + std::to_string(each->tensor.dim(axis));
    const std::uint64_t end = offset + each->tensor.bytes();
    text += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > most_header_bytes)
    fail<InvalidArgumentError>("cannot write ", path, ": names and metadata take ", text.size(),
                               " bytes; the format allows ", most_header_bytes);
  return text;
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  const auto sorted = in_order(tensors, path);
  const std::string header = header_of(sorted, metadata, path);
  WholeFile file(path);
  const std::uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const NamedTensor* each : sorted) {
    const Tensor values = each->tensor.on_host().make_contiguous();
    file.write(std::span(values.raw(), values.bytes()));
  }
  file.commit();
}

}  // namespace tapedeck::data
