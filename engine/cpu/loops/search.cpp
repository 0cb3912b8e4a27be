#include <algorithm>
#include <type_traits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T, class Place>
void search(bool right, const T* sequences, std::int64_t length, const T* values, std::int64_t count,
            std::int64_t per_row, Place* out) {
  for_blocks(count, 1024, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* first = sequences + i / per_row * length;
      const T* found = right ? std::upper_bound(first, first + length, values[i])
                             : std::lower_bound(first, first + length, values[i]);
      out[i] = static_cast<Place>(found - first);
    }
  });
}

}  // namespace

void search_rows(bool right, DType dtype, const void* sequences, std::int64_t length, const void* values,
                 std::int64_t count, std::int64_t per_row, DType places, void* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      const T* from = static_cast<const T*>(sequences);
      const T* sought = static_cast<const T*>(values);
      if (places == DType::int32)
        search(right, from, length, sought, count, per_row, static_cast<std::int32_t*>(out));
      else
        search(right, from, length, sought, count, per_row, static_cast<std::int64_t*>(out));
    }
  });
}

std::int64_t count_true(const bool* flags, std::int64_t count) {
  return std::count(flags, flags + count, true);
}

bool any(const bool* flags, std::int64_t count, const std::string&) {
  return std::find(flags, flags + count, true) != flags + count;
}

std::int64_t true_coordinates(const bool* flags, const Shape& shape, std::int64_t room, std::int64_t* out) {
  const int rank = shape.rank();
  const std::int64_t count = element_count(shape);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count && found < room; ++i) {
    if (!flags[i]) continue;
    std::int64_t left = i;
    for (int axis = rank - 1; axis > 0; --axis) {
      out[axis] = left % shape[axis];
      left /= shape[axis];
    }
    if (rank > 0) out[0] = left;
    out += rank;
    ++found;
  }
  return found;
}

}  // namespace tapedeck::cpu
