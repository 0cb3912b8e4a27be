#include "engine/data/element_bytes.h"

#include <algorithm>
#include <cstring>

#include "engine/data/data_error.h"
#include "engine/tensor/strings.h"

namespace tapedeck::data {

namespace {

template <class T>
void put(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}
  bool at_end() const { return bytes_.empty(); }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) refuse();
    const std::string_view part = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(static_cast<std::size_t>(count));
    return part;
  }
  [[noreturn]] void refuse() const { fail<DataLossError>(path_, ": does not hold an element of a data set"); }

 private:
  std::string_view bytes_;
  const std::string& path_;
};

void put_tensor(std::string& bytes, const Tensor& given) {
  const Tensor tensor = given.make_contiguous();
  put(bytes, static_cast<std::uint8_t>(tensor.dtype()));
  put(bytes, static_cast<std::uint8_t>(tensor.rank()));
  for (const std::int64_t extent : tensor.shape()) put(bytes, extent);
  if (tensor.dtype() == DType::string) {
    for (const std::string_view value : strings_of(tensor)) {
      put(bytes, static_cast<std::uint64_t>(value.size()));
      bytes.append(value);
    }
    return;
  }
  bytes.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
}

Tensor get_strings(Reader& reader, const Shape& shape, std::int64_t count) {
  std::vector<std::string_view> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(reader.take(reader.get<std::uint64_t>()));
  return string_tensor(shape, values);
}

Tensor get_tensor(Reader& reader) {
  const auto dtype = reader.get<std::uint8_t>(), rank = reader.get<std::uint8_t>();
  if (dtype >= dtype_count || rank > max_rank) reader.refuse();
  Shape shape;
  std::int64_t count = 1;
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) {
    const auto extent = reader.get<std::int64_t>();
    empty = empty || extent == 0;
    // No tensor has extents whose product overflows, though another is 0.
    if (extent < 0 || (extent > 0 && __builtin_mul_overflow(count, extent, &count))) reader.refuse();
    shape.push_back(extent);
  }
  if (empty) count = 0;
  if (static_cast<DType>(dtype) == DType::string) return get_strings(reader, shape, count);
  std::int64_t size = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(item_size(static_cast<DType>(dtype))), &size))
    reader.refuse();
  const std::string_view values = reader.take(static_cast<std::uint64_t>(size));
  const auto is_truth = [](char value) { return value == 0 || value == 1; };
  if (static_cast<DType>(dtype) == DType::bool_ && !std::all_of(values.begin(), values.end(), is_truth))
    reader.refuse();
  Tensor tensor = Tensor::allocate(static_cast<DType>(dtype), shape);
  std::memcpy(const_cast<std::byte*>(tensor.raw()), values.data(), values.size());
  return tensor;
}

}  // namespace

std::string bytes_of_element(const Element& element) {
  std::string bytes;
  for (const Component& component : element) {
    if (!component.tensor)
      fail<UnimplementedError>("a data set within an element cannot be written to a file");
    put_tensor(bytes, component.tensor);
  }
  return bytes;
}

Element element_from_bytes(std::string_view bytes, const std::string& path) {
  Reader reader(bytes, path);
  Element element;
  while (!reader.at_end()) element.emplace_back(get_tensor(reader));
  return element;
}

}  // namespace tapedeck::data
