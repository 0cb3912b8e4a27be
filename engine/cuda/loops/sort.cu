// Order of the values in rows, by unsigned keys in the order of the values and by places, so that equal
// values keep their order. Short rows, and pieces of rows for the first few, are sorted in shared memory by
// Batcher's bitonic network; long rows by radix, all of them at once and then once more by the rows' numbers.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/primitives.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

constexpr std::int64_t most_in_block = 2048;  ///< values sorted in shared memory
constexpr std::int64_t few = 256;             ///< first ones of a long row that pieces are asked for
constexpr std::int64_t most_at_once = std::int64_t{1} << 31;

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Equal values have one key, −0 that of 0, and all NaN the largest.
template <class T>
__device__ __forceinline__ KeyOf<T> key_of(T value, bool descending) {
  using Key = KeyOf<T>;
  constexpr Key sign = Key{1} << (8 * sizeof(T) - 1);
  Key key;
  if constexpr (std::is_floating_point_v<T>) {
    const Key bits = std::bit_cast<Key>(value == T(0) ? T(0) : value);
    key = value != value ? ~Key{0} : (bits & sign) != 0 ? ~bits : bits | sign;
  } else {
    key = static_cast<Key>(value) ^ sign;
  }
  return descending ? ~key : key;
}

// ---- in shared memory ----

/// Rows of values, or, if keys already exist, of pairs that represent them. Each row is padded with pairs
/// that sort after all others.
template <class T>
struct Pairs {
  const KeyOf<T>* keys;  ///< nullptr: of the values
  const std::uint32_t* places;
};
/// Where the first `keep` of each piece go; what is nullptr is not wanted.
template <class T>
struct Sorted {
  KeyOf<T>* keys;
  std::uint32_t* places;
  T* values;
  std::int32_t* positions;
};

constexpr int sort_threads = 256;

/// Sorts pieces of `size` values of each row, `slots` (a power of two) to a piece, several pieces to a block;
/// values: rows × width, pairs: rows × count, sorted: rows × pieces × keep.
template <class T>
__global__ void sort_pieces_kernel(bool descending, const T* values, std::int64_t width, Pairs<T> pairs,
                                   std::int64_t rows, std::int64_t count, int size, int slots,
                                   int pieces_a_block, int keep, Sorted<T> sorted) {
  using Key = KeyOf<T>;
  const int held = slots * pieces_a_block;
  Key* const keys = shared_memory<Key>();
  auto* const places = reinterpret_cast<std::uint32_t*>(keys + held);
  const std::int64_t pieces = (count + size - 1) / size;
  const std::int64_t blocks = (rows * pieces + pieces_a_block - 1) / pieces_a_block;
  const auto thread = static_cast<int>(threadIdx.x);
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    for (int slot = thread; slot < held; slot += sort_threads) {
      const std::int64_t piece = block * pieces_a_block + slot / slots;
      const int within = slot % slots;
      const std::int64_t row = piece / pieces, place = piece % pieces * size + within;
      keys[slot] = ~Key{0};
      places[slot] = ~std::uint32_t{0};
      if (piece >= rows * pieces || within >= size || place >= count) continue;
      keys[slot] =
          pairs.keys ? pairs.keys[row * count + place] : key_of(values[row * width + place], descending);
      places[slot] = pairs.keys ? pairs.places[row * count + place] : static_cast<std::uint32_t>(place);
    }
    __syncthreads();
    for (int run = 2; run <= slots; run *= 2)
      for (int distance = run / 2; distance > 0; distance /= 2) {
        for (int pair = thread; pair < held / 2; pair += sort_threads) {
          const int i = 2 * pair - (pair & (distance - 1)), j = i + distance;
          const Key key = keys[i], other = keys[j];
          const std::uint32_t place = places[i], other_place = places[j];
          const bool turned = other < key || (other == key && other_place < place);
          const bool upwards = (i & (slots - 1) & run) == 0;
          if (turned == upwards && !(key == other && place == other_place)) {
            keys[i] = other, keys[j] = key;
            places[i] = other_place, places[j] = place;
          }
        }
        __syncthreads();
      }
    for (int number = thread; number < pieces_a_block * keep; number += sort_threads) {
      const std::int64_t piece = block * pieces_a_block + number / keep;
      const int within = number % keep;
      if (piece >= rows * pieces) continue;
      const int slot = number / keep * slots + within;
      const std::uint32_t place = places[slot];
      const std::int64_t to = piece * keep + within;
      if (sorted.keys) {
        sorted.keys[to] = keys[slot];
        sorted.places[to] = place;
      }
      if (sorted.values) sorted.values[to] = values[piece / pieces * width + place];
      if (sorted.positions) sorted.positions[to] = static_cast<std::int32_t>(place);
    }
    __syncthreads();
  }
}

template <class T>
void sort_pieces(bool descending, const T* values, std::int64_t width, const Pairs<T>& pairs,
                 std::int64_t rows, std::int64_t count, std::int64_t keep, const Sorted<T>& sorted) {
  const std::int64_t size = std::min(count, most_in_block), pieces = (count + size - 1) / size;
  const auto slots = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
  const std::int64_t pieces_a_block =
      std::max<std::int64_t>(1, std::min(2 * sort_threads / slots, rows * pieces));
  const std::int64_t blocks = (rows * pieces + pieces_a_block - 1) / pieces_a_block;
  launch("sort_pieces",
         Grid{.blocks = std::min<std::int64_t>(blocks, 1 << 16),
              .threads = sort_threads,
              .shared_bytes = static_cast<std::size_t>(slots * pieces_a_block) * (sizeof(KeyOf<T>) + 4),
              .cooperation = Cooperation::block},
         sort_pieces_kernel<T>, descending, values, width, pairs, rows, count, static_cast<int>(size),
         static_cast<int>(slots), static_cast<int>(pieces_a_block), static_cast<int>(keep), sorted);
}

/// The first `keep` of each row, by way of the first ones of its pieces, and of pieces of those, and so on.
template <class T>
void first_of_pieces(const T* values, std::int64_t rows, std::int64_t count, std::int64_t keep, T* out,
                     std::int32_t* positions) {
  const auto room_for = [&](std::int64_t pairs) {
    return Scratch(static_cast<std::size_t>(rows * pairs) * (sizeof(KeyOf<T>) + sizeof(std::uint32_t)));
  };
  const std::int64_t most = (count + most_in_block - 1) / most_in_block * keep;
  const Scratch first = room_for(most), second = room_for((most + most_in_block - 1) / most_in_block * keep);
  Pairs<T> from{nullptr, nullptr};
  std::int64_t left = count;
  for (const Scratch* to = &first; left > most_in_block; to = to == &first ? &second : &first) {
    const std::int64_t next = (left + most_in_block - 1) / most_in_block * keep;
    const Sorted<T> sorted{to->as<KeyOf<T>>(),
                           reinterpret_cast<std::uint32_t*>(to->as<KeyOf<T>>() + rows * next), nullptr,
                           nullptr};
    sort_pieces(true, values, count, from, rows, left, keep, sorted);
    from = {sorted.keys, sorted.places};
    left = next;
  }
  sort_pieces(true, values, count, from, rows, left, keep, Sorted<T>{nullptr, nullptr, out, positions});
}

// ---- by radix ----

template <class T>
__global__ void keys_kernel(bool descending, const T* values, std::int64_t count, KeyOf<T>* keys,
                            std::uint32_t* places) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    keys[i] = key_of(values[i], descending);
    places[i] = static_cast<std::uint32_t>(i);
  }
}
__global__ void row_numbers_kernel(const std::uint32_t* places, std::int64_t count, std::int64_t width,
                                   std::uint32_t* rows) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count())
    rows[i] = static_cast<std::uint32_t>(places[i] / width);
}
template <class T>
__global__ void take_kernel(const T* values, const std::uint32_t* places, std::int64_t rows,
                            std::int64_t count, std::int64_t keep, T* out, std::int32_t* positions) {
  for (std::int64_t i = thread_number(); i < rows * keep; i += thread_count()) {
    const std::uint32_t place = places[i / keep * count + i % keep];
    if (out) out[i] = values[place];
    if (positions) positions[i] = static_cast<std::int32_t>(place % count);
  }
}

/// The first `keep` of each row.
template <class T>
void sort_by_radix(bool descending, const T* values, std::int64_t rows, std::int64_t count, std::int64_t keep,
                   T* out, std::int32_t* positions) {
  using Key = KeyOf<T>;
  const std::int64_t rows_at_once = std::min(rows, std::max<std::int64_t>(1, most_at_once / count));
  const auto most = static_cast<std::size_t>(rows_at_once * count);
  const Scratch keys(most * sizeof(Key)), sorted_keys(most * sizeof(Key));
  const Scratch places(most * sizeof(std::uint32_t)), sorted_places(most * sizeof(std::uint32_t));
  for (std::int64_t first = 0; first < rows; first += rows_at_once) {
    const std::int64_t here = std::min(rows_at_once, rows - first), total = here * count;
    const T* from = values + first * count;
    launch("sort_keys", grid_for(total), keys_kernel<T>, descending, from, total, keys.as<Key>(),
           places.as<std::uint32_t>());
    sort_pairs(keys.as<Key>(), places.as<std::uint32_t>(), sorted_keys.as<Key>(),
               sorted_places.as<std::uint32_t>(), total);
    const std::uint32_t* order = sorted_places.as<std::uint32_t>();
    if (here > 1) {
      launch("sort_row_numbers", grid_for(total), row_numbers_kernel, order, total, count,
             keys.as<std::uint32_t>());
      sort_pairs(keys.as<std::uint32_t>(), order, sorted_keys.as<std::uint32_t>(), places.as<std::uint32_t>(),
                 total, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(here - 1))));
      order = places.as<std::uint32_t>();
    }
    launch("sort_take", grid_for(here * keep), take_kernel<T>, from, order, here, count, keep,
           out ? out + first * keep : nullptr, positions ? positions + first * keep : nullptr);
  }
}

template <class T>
void sort_first(bool descending, const void* values, std::int64_t rows, std::int64_t count, std::int64_t keep,
                void* out, std::int32_t* positions) {
  const T* from = static_cast<const T*>(values);
  T* to = static_cast<T*>(out);
  if (rows * keep == 0) return;
  if (count > std::numeric_limits<std::int32_t>::max()) throw NoKernel("sort of rows this long");
  if (count <= most_in_block)
    sort_pieces(descending, from, count, Pairs<T>{nullptr, nullptr}, rows, count, keep,
                Sorted<T>{nullptr, nullptr, to, positions});
  else if (keep <= few && descending)
    first_of_pieces(from, rows, count, keep, to, positions);
  else
    sort_by_radix(descending, from, rows, count, keep, to, positions);
}

void sort_as(const char* kernel, bool descending, DType dtype, const void* values, std::int64_t rows,
             std::int64_t count, std::int64_t keep, void* out, std::int32_t* positions) {
  switch (dtype) {
    case DType::int32:
      return sort_first<std::int32_t>(descending, values, rows, count, keep, out, positions);
    case DType::int64:
      return sort_first<std::int64_t>(descending, values, rows, count, keep, out, positions);
    case DType::float32:
      return sort_first<float>(descending, values, rows, count, keep, out, positions);
    case DType::float64:
      return sort_first<double>(descending, values, rows, count, keep, out, positions);
    default:
      throw NoKernel(std::string(kernel) + " of " + std::string(dtype_name(dtype)));
  }
}

}  // namespace

void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
               void* out) {
  sort_as("sort_rows", descending, dtype, values, rows, count, count, out, nullptr);
}

void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                  std::int32_t* out) {
  sort_as("argsort_rows", descending, dtype, values, rows, count, count, nullptr, out);
}

void top_k_rows(DType dtype, const void* values, std::int64_t rows, std::int64_t count, std::int64_t k,
                void* out, std::int32_t* positions) {
  sort_as("top_k_rows", true, dtype, values, rows, count, k, out, positions);
}

}  // namespace tapedeck::cuda
