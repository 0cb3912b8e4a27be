// Sums of rows with equal numbers: after sorting, these are adjacent, in their order.
#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/compact.h"
#include "engine/cuda/loops/packs.h"

namespace tapedeck::cuda {
namespace {

/// Whether a place in the order is the first one of its number.
struct IsNew {
  const std::int64_t* numbers;
  const std::int32_t* order;
  __device__ bool operator()(std::int64_t i) const {
    return i == 0 || numbers[order[i]] != numbers[order[i - 1]];
  }
};
struct WriteBegin {
  const std::int64_t* numbers;
  const std::int32_t* order;
  std::int64_t* distinct;
  std::int64_t* begins;
  __device__ void operator()(std::int64_t i, std::int64_t number, bool is_new) const {
    if (!is_new) return;
    distinct[number - 1] = numbers[order[i]];
    begins[number - 1] = i;
  }
};

/// A thread for each pack of values of a sum, where rows consist of such and may lie where they do. Behind
/// the last begin stand −1.
template <int pack, class T>
__global__ void sum_rows_kernel(const T* values, const std::int32_t* order, const std::int64_t* begins,
                                std::int64_t count, std::int64_t width, T* sums) {
  const std::int64_t packs = width / pack;
  for (std::int64_t n = thread_number(); n < count * packs; n += thread_count()) {
    const std::int64_t k = n / packs, j = (n - k * packs) * pack, begin = begins[k];
    if (begin < 0) return;  // nor have later ones a begin
    const std::int64_t end = k + 1 < count && begins[k + 1] >= 0 ? begins[k + 1] : count;
    Pack<T, pack> sum = load_pack<pack>(values + order[begin] * width + j);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const Pack<T, pack> next = load_pack<pack>(values + order[i] * width + j);
      for (int each = 0; each < pack; ++each) sum.values[each] += next.values[each];
    }
    store_pack(sums + n * pack, sum);
  }
}

template <class T>
void sum_values(const void* values, const std::int32_t* order, const std::int64_t* begins, std::int64_t count,
                std::int64_t width, void* sums) {
  constexpr int pack = pack_width<T>;
  const bool packs =
      width % pack == 0 && takes_packs<Pack<T, pack>>(values) && takes_packs<Pack<T, pack>>(sums);
  launch("sum_rows", grid_for(count * width, packs ? pack : 1),
         packs ? sum_rows_kernel<pack, T> : sum_rows_kernel<1, T>, static_cast<const T*>(values), order,
         begins, count, width, static_cast<T*>(sums));
}

}  // namespace

std::int64_t sum_rows(DType dtype, const void* values, const std::int64_t* numbers, std::int64_t count,
                      std::int64_t width, std::int64_t* distinct, void* sums) {
  if (count == 0) return 0;
  const auto rows = static_cast<std::size_t>(count);
  const CompactParts parts(count);
  const Scratch order(rows * sizeof(std::int32_t)), begins(rows * sizeof(std::int64_t));
  const Scratch counts(parts.counts_bytes());
  argsort_rows(false, DType::int64, numbers, 1, count, order.as<std::int32_t>());
  check(cudaMemsetAsync(distinct, 0xff, rows * sizeof(std::int64_t), stream()), "sum_rows");
  check(cudaMemsetAsync(begins.data(), 0xff, rows * sizeof(std::int64_t), stream()), "sum_rows");
  const IsNew is_new{numbers, order.as<std::int32_t>()};
  const WriteBegin write{numbers, order.as<std::int32_t>(), distinct, begins.as<std::int64_t>()};
  launch("sum_rows", parts.grid(), count_parts_kernel<IsNew>, parts, is_new, counts.as<std::int64_t>());
  launch("sum_rows", parts.grid(), number_places_kernel<IsNew, WriteBegin>, parts, is_new, write,
         counts.as<std::int64_t>());
  if (dtype == DType::float32)
    sum_values<float>(values, order.as<std::int32_t>(), begins.as<std::int64_t>(), count, width, sums);
  else
    sum_values<double>(values, order.as<std::int32_t>(), begins.as<std::int64_t>(), count, width, sums);
  return count;
}

}  // namespace tapedeck::cuda
