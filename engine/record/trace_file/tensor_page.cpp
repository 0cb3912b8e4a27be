#include "engine/record/trace_file/tensor_page.h"

#include <cstring>

#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace_file/format.h"
#include "engine/tensor/strings.h"

namespace tapedeck::trace_file {
namespace {

// The first byte of a tensor.
constexpr unsigned leaf_bit = 1, named_flag = 2, stored_flag = 4, small_flag = 8, gone_flag = 16,
                   shares_flag = 32, all_flags = 63;

bool may_be_small(const RecordedSpec& spec) {
  return spec.dtype != DType::string && value_bytes(spec) <= small_bytes;
}

Tensor on_cpu_row_major(const Tensor& value) {
  return value.on_host().make_contiguous();
}

/// A bool with a byte other than 0 and 1 would be invalid.
void copy_numbers(DType dtype, std::span<const std::uint8_t> bytes, std::uint8_t* target) {
  if (dtype != DType::bool_) {
    if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > 1) throw DamagedPage("a truth value is neither true nor false");
    target[i] = bytes[i];
  }
}

TensorTable::Life read_life(PageReader& page, std::uint64_t id, unsigned flags, const TensorCut& cut) {
  TensorTable::Life life{id, 0};
  if ((flags & shares_flag) != 0) {
    const std::int64_t apart = page.signed_number();
    if (apart != static_cast<std::int32_t>(apart)) throw DamagedPage("a tensor shares the memory of none");
    life.root = id + static_cast<std::uint64_t>(apart);
    if (life.root == 0 || life.root > cut.newest_tensor)
      throw DamagedPage("a tensor shares the memory of none");
  }
  if ((flags & gone_flag) != 0)
    life.gone = static_cast<std::uint32_t>(
        page.number_up_to(std::uint64_t{cut.newest_record} + 1, "a record's number"));
  return life;
}

Tensor read_strings(const RecordedSpec& spec, std::span<const std::uint8_t> bytes) {
  const auto count = static_cast<std::size_t>(element_count(spec.shape));
  if (count > bytes.size()) throw DamagedPage("it has fewer strings than its shape");
  PageReader reader(bytes);
  std::vector<std::size_t> lengths(count);
  for (std::size_t& length : lengths) length = reader.count("a string's length");
  std::vector<std::string_view> values;
  values.reserve(count);
  for (const std::size_t length : lengths) values.push_back(reader.raw(length));
  reader.end();
  return string_tensor(spec.shape, values);
}

}  // namespace

void write_tensors(const TensorTable& table, const Values& values, std::uint64_t block, const TensorCut& cut,
                   FileNumbers& numbers, PageWriter& page) {
  const std::uint64_t first = block * TensorTable::block_size;
  std::uint64_t last_offset = 0;
  std::uint32_t last_producer = 0;
  for (std::uint64_t id = first; id < first + TensorTable::block_size && id <= cut.newest_tensor; ++id) {
    const TensorOrigin origin = table.get(id);
    if (!origin.known() || origin.producer() > cut.newest_record) continue;
    const std::uint32_t name = origin.named() ? table.name(id) : 0;
    const bool stored = cut.stored.contains(id);
    Tensor small;
    if (!stored && may_be_small(spec_of(origin.spec()))) small = values.small_value(id);
    const TensorTable::Life life = table.life(id);
    const bool shares = life.root != id && life.root <= cut.newest_tensor;
    // Memory released after the newest record ended is gone from the next record on.
    const bool gone = !shares && life.gone != 0 && life.gone <= cut.newest_record + 1;
    page.byte(static_cast<std::uint8_t>((origin.is_leaf() ? leaf_bit : 0) | (name ? named_flag : 0) |
                                        (stored ? stored_flag : 0) | (small ? small_flag : 0) |
                                        (gone ? gone_flag : 0) | (shares ? shares_flag : 0)));
    page.number(id - first - last_offset);
    last_offset = id - first;
    page.number(numbers.specs.of(origin.spec()));
    if (!origin.is_leaf()) {
      page.signed_number(std::int64_t{origin.producer()} - last_producer);
      last_producer = origin.producer();
    }
    if (shares) page.signed_number(static_cast<std::int64_t>(life.root - id));
    if (gone) page.number(life.gone);
    if (name) page.number(numbers.names.of(name));
    if (small) page.raw(small.raw(), small.bytes());
  }
}

void read_tensors(PageReader& page, std::uint64_t block, const TensorCut& cut, const ProcessNumbers& numbers,
                  const std::function<void(const StoredTensor&)>& take) {
  const std::uint64_t first = block * TensorTable::block_size;
  std::uint64_t offset = 0;
  std::int64_t producer = 0;
  bool any = false;
  while (page.left() > 0) {
    StoredTensor tensor;
    const unsigned flags = page.byte();
    const std::uint64_t step =
        page.number_up_to(TensorTable::block_size - 1 - offset, "a place in the block");
    if (flags > all_flags || (any && step == 0)) throw DamagedPage("an invalid tensor");
    any = true;
    tensor.id = first + (offset += step);
    const std::uint32_t spec = in_process(numbers.specs, page.number(), "spec");
    if (tensor.id == 0 || tensor.id > cut.newest_tensor || spec == 0) throw DamagedPage("an invalid tensor");
    if ((flags & leaf_bit) != 0) {
      tensor.origin = TensorOrigin::leaf(spec);
    } else {
      producer += page.signed_number() % (std::int64_t{1} << 32);
      if (producer <= 0 || producer > cut.newest_record)
        throw DamagedPage("tensor " + std::to_string(tensor.id) + " was made by no record of the file");
      tensor.origin = TensorOrigin::made_by(static_cast<std::uint32_t>(producer), spec);
    }
    tensor.life = read_life(page, tensor.id, flags, cut);
    if ((flags & named_flag) != 0) {
      tensor.name = in_process(numbers.names, page.number(), "name");
      tensor.origin = tensor.origin.with_name();
    }
    if ((flags & stored_flag) != 0) tensor.origin = tensor.origin.with_stored();
    if ((flags & small_flag) != 0) {
      const RecordedSpec known = spec_of(spec);
      if (!may_be_small(known)) throw DamagedPage("a small value is large");
      tensor.has_small = true;
      tensor.small = page.raw(value_bytes(known));
      if (known.dtype == DType::bool_)
        for (const char each : tensor.small)
          if (each != 0 && each != 1) throw DamagedPage("a truth value is neither true nor false");
    }
    take(tensor);
  }
}

void write_value(const Tensor& value, const std::function<void(std::span<const std::uint8_t>)>& put) {
  const auto put_parts = [&](const std::uint8_t* bytes, std::size_t size) {
    for (std::size_t at = 0; at < size; at += part_bytes) put({bytes + at, std::min(part_bytes, size - at)});
  };
  if (value.dtype() != DType::string) {
    const Tensor row_major = on_cpu_row_major(value);
    if (row_major.bytes() == 0) return put({});
    return put_parts(reinterpret_cast<const std::uint8_t*>(row_major.raw()), row_major.bytes());
  }
  const std::vector<std::string_view> strings = strings_of(value);
  PageWriter page;
  const auto flush = [&](std::size_t least) {
    if (page.size() < least) return;
    put_parts(page.bytes().data(), page.size());
    page.clear();
  };
  for (const std::string_view text : strings) {
    page.number(text.size());
    flush(part_bytes);
  }
  for (const std::string_view text : strings) {
    page.raw(text.data(), text.size());
    flush(part_bytes);
  }
  if (strings.empty()) return put({});
  flush(1);
}

std::uint64_t value_bytes(const RecordedSpec& spec) {
  const auto count = static_cast<std::uint64_t>(element_count(spec.shape));
  return spec.dtype == DType::string ? count : count * item_size(spec.dtype);
}

Tensor read_value(const RecordedSpec& spec, std::uint64_t total,
                  const std::function<std::span<const std::uint8_t>()>& next) {
  if (spec.dtype == DType::string) {
    std::vector<std::uint8_t> bytes;
    for (auto part = next(); !part.empty(); part = next())
      bytes.insert(bytes.end(), part.begin(), part.end());
    return read_strings(spec, bytes);
  }
  const std::uint64_t due = value_bytes(spec);
  const auto refuse_size = [&](std::uint64_t size) {
    throw DamagedPage("it has " + std::to_string(size) + " bytes, its shape " + std::to_string(due));
  };
  if (total != due) refuse_size(total);
  const Tensor tensor = Tensor::allocate(spec.dtype, spec.shape);
  auto* const target = reinterpret_cast<std::uint8_t*>(tensor.storage()->data());
  std::uint64_t at = 0;
  for (auto part = next(); !part.empty(); part = next()) {
    if (part.size() > due - at) refuse_size(at + part.size());
    copy_numbers(spec.dtype, part, target + at);
    at += part.size();
  }
  if (at != due) refuse_size(at);
  return tensor;
}

}  // namespace tapedeck::trace_file
