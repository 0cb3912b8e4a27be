#include "engine/record/values/memory_parts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "engine/tensor/error.h"

namespace tapedeck {
namespace {

constexpr std::size_t most_shared_places = 100'000;

struct SharedPlaces {
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<const SharedPlace>> by_tensor;
};

SharedPlaces& shared_places() {
  static auto* all = new SharedPlaces;
  return *all;
}

/// Calls visit(byte of the element in the memory) for each element, in row-major order.
template <class Visit>
void for_each_element(const MemoryPlace& place, Visit&& visit) {
  const auto size = static_cast<std::int64_t>(item_size(place.dtype));
  const std::int64_t count = element_count(place.shape);
  const int rank = place.shape.rank();
  std::vector<std::int64_t> index(static_cast<std::size_t>(rank), 0);
  std::int64_t at = place.offset;
  for (std::int64_t done = 0; done < count; ++done) {
    visit(at * size);
    for (int axis = rank - 1; axis >= 0; --axis) {
      auto& here = index[static_cast<std::size_t>(axis)];
      at += place.strides[axis];
      if (++here < place.shape[axis]) break;
      at -= place.strides[axis] * place.shape[axis];
      here = 0;
    }
  }
}

}  // namespace

ByteRange byte_range(const MemoryPlace& place) {
  const auto size = static_cast<std::int64_t>(item_size(place.dtype));
  std::int64_t first = place.offset, last = place.offset;
  for (int axis = 0; axis < place.shape.rank(); ++axis) {
    if (place.shape[axis] == 0) return {place.offset * size, place.offset * size};
    (place.strides[axis] < 0 ? first : last) += place.strides[axis] * (place.shape[axis] - 1);
  }
  return {first * size, (last + 1) * size};
}

void note_shared_place(std::uint64_t tensor, SharedPlace place) {
  auto kept = std::make_shared<const SharedPlace>(std::move(place));
  SharedPlaces& all = shared_places();
  const std::lock_guard lock(all.mutex);
  all.by_tensor.insert_or_assign(tensor, std::move(kept));
  if (all.by_tensor.size() > most_shared_places) all.by_tensor.erase(all.by_tensor.begin());
}

std::shared_ptr<const SharedPlace> shared_place_of(std::uint64_t tensor) {
  SharedPlaces& all = shared_places();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_tensor.find(tensor);
  return found == all.by_tensor.end() ? nullptr : found->second;
}

PartElements elements_of_parts(const SharedPlace& shared) {
  const auto [low, high] = byte_range(shared.place);
  const auto size = static_cast<std::int64_t>(item_size(shared.place.dtype));
  const auto items = static_cast<std::size_t>((high - low) / size);
  std::vector<std::int32_t> owners(items, -1);
  std::vector<std::int64_t> places(items, 0);
  for (std::size_t i = 0; i < shared.parts.size(); ++i) {
    const MemoryPlace& part = shared.parts[i].place;
    const bool alike = part.dtype == shared.place.dtype;
    const auto item = static_cast<std::int64_t>(item_size(part.dtype));
    std::int64_t element = 0;
    for_each_element(part, [&](std::int64_t at) {
      const std::int64_t place = element++;
      if (at + item <= low || at >= high) return;
      const std::int64_t first = std::max<std::int64_t>(0, (at - low) / size);
      const std::int64_t last = std::min(static_cast<std::int64_t>(items) - 1, (at + item - 1 - low) / size);
      for (std::int64_t k = first; k <= last; ++k) {
        owners[static_cast<std::size_t>(k)] = alike ? static_cast<std::int32_t>(i) : -1;
        places[static_cast<std::size_t>(k)] = place;
      }
    });
  }
  PartElements found;
  for_each_element(shared.place, [&](std::int64_t at) {
    const auto k = static_cast<std::size_t>((at - low) / size);
    found.parts.push_back(owners[k]);
    found.places.push_back(places[k]);
  });
  return found;
}

std::optional<std::vector<std::int64_t>> places_of_part(const MemoryPlace& whole, const MemoryPlace& part) {
  if (whole.dtype != part.dtype) return std::nullopt;
  const auto [low, high] = byte_range(whole);
  const auto size = static_cast<std::int64_t>(item_size(whole.dtype));
  std::vector<std::int64_t> elements(static_cast<std::size_t>((high - low) / size), -1);
  std::int64_t element = 0;
  for_each_element(
      whole, [&](std::int64_t at) { elements[static_cast<std::size_t>((at - low) / size)] = element++; });
  std::vector<std::int64_t> places;
  for_each_element(part, [&](std::int64_t at) {
    places.push_back(at < low || at >= high ? -1 : elements[static_cast<std::size_t>((at - low) / size)]);
  });
  return places;
}

Tensor put_together(const SharedPlace& shared, const Tensor& original,
                    const std::function<std::optional<Tensor>(std::uint64_t part)>& other) {
  const auto [low, high] = byte_range(shared.place);
  if (original.shape() != shared.place.shape || original.dtype() != shared.place.dtype)
    fail<InvalidArgumentError>("a tensor has not the shape that it had in its memory");
  const auto size = static_cast<std::int64_t>(item_size(shared.place.dtype));
  std::vector<std::byte> before(static_cast<std::size_t>(high - low));
  const Tensor whole = original.make_contiguous();
  std::int64_t from = 0;
  for_each_element(shared.place, [&](std::int64_t at) {
    std::memcpy(before.data() + (at - low), whole.raw() + from, static_cast<std::size_t>(size));
    from += size;
  });
  std::vector<std::byte> bytes = before;
  for (const MemoryPart& part : shared.parts) {
    const std::optional<Tensor> value = other(part.tensor);
    if (value && (value->shape() != part.place.shape || value->dtype() != part.place.dtype))
      fail<InvalidArgumentError>("what was written into its memory has the shape ", to_string(value->shape()),
                                 " now, and had ", to_string(part.place.shape));
    const Tensor dense = value ? value->make_contiguous() : Tensor();
    const auto item = static_cast<std::int64_t>(item_size(part.place.dtype));
    std::int64_t read = 0;
    for_each_element(part.place, [&](std::int64_t at) {
      const std::int64_t element = std::exchange(read, read + item);
      if (at < low || at + item > high) return;
      const std::byte* source = value ? dense.raw() + element : before.data() + (at - low);
      std::memcpy(bytes.data() + (at - low), source, static_cast<std::size_t>(item));
    });
  }
  StoragePointer made = StoragePointer::allocate(whole.bytes());
  std::byte* to = made->data();
  for_each_element(shared.place, [&](std::int64_t at) {
    std::memcpy(to, bytes.data() + (at - low), static_cast<std::size_t>(size));
    to += size;
  });
  return Tensor::view(std::move(made), shared.place.dtype, shared.place.shape, whole.strides(), 0);
}

}  // namespace tapedeck
