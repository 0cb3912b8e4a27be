#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/cpu/vector/update_rules.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/packs.h"

namespace tapedeck::cuda {
namespace {

namespace rules = cpu::TAPEDECK_ISA;

template <class T, std::size_t targets>
struct Arrays {
  const T* from[targets];
  T* to[targets];
  const T* gradient;
};

/// The packs behind `at` by the gradient's, each loaded by `load(from)` and stored by `store(to, pack)`. A
/// result may overwrite its own operand, but no other input.
template <class T, int width, class Rule, std::size_t... k, class Load, class Store>
__device__ __forceinline__ void update_pack(const Rule& rule, const Arrays<T, sizeof...(k)>& arrays,
                                            std::int64_t at, const Pack<T, width>& gradient,
                                            std::index_sequence<k...>, Load load, Store store) {
  Pack<T, width> packs[] = {load(arrays.from[k] + at)...};
  for (int i = 0; i < width; ++i) rule(gradient.values[i], packs[k].values[i]...);
  (store(arrays.to[k] + at, packs[k]), ...);
}

template <class T, class Rule>
__global__ void update_kernel(Rule rule, Arrays<T, 1 + Rule::slots> arrays, std::int64_t count) {
  constexpr int width = pack_width<T>;
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width)
    update_pack(
        rule, arrays, i, load_pack<width>(arrays.gradient, i, count),
        std::make_index_sequence<1 + Rule::slots>(),
        [=](const T* from) { return load_pack<width>(from, 0, count - i); },
        [=](T* to, const auto& values) { store_pack(to, 0, count - i, values); });
}

/// A pack of a row at a time, where rows consist of such and all may lie where they do.
template <int pack, class T, class Rule>
__global__ void update_rows_kernel(Rule rule, Arrays<T, 1 + Rule::slots> arrays, const std::int64_t* rows,
                                   std::int64_t count, std::int64_t width) {
  const std::int64_t packs = width / pack;
  for (std::int64_t i = thread_number(); i < count * packs; i += thread_count()) {
    const std::int64_t row = i / packs;
    if (rows[row] >= 0)
      update_pack(
          rule, arrays, rows[row] * width + (i - row * packs) * pack,
          load_pack<pack>(arrays.gradient + i * pack), std::make_index_sequence<1 + Rule::slots>(),
          [](const T* from) { return load_pack<pack>(from); },
          [](T* to, const auto& values) { store_pack(to, values); });
  }
}

/// Calls `f(rule, arrays)` with the dtype's and the rule's types.
template <class F>
void with_rule(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers, F&& f) {
  const auto of = [&]<class T>(T) {
    rules::visit_rule<T>(rule, [&]<class Rule>() {
      Arrays<T, 1 + Rule::slots> typed{};
      for (std::size_t k = 0; k <= Rule::slots; ++k) {
        typed.from[k] = static_cast<const T*>(arrays.from[k]);
        typed.to[k] = static_cast<T*>(arrays.to[k]);
      }
      typed.gradient = static_cast<const T*>(arrays.gradient);
      f(Rule{rules::Numbers<T>{numbers}}, typed, T{});
    });
  };
  if (dtype == DType::float32)
    of(float{});
  else if (dtype == DType::float64)
    of(double{});
  else
    throw NoKernel("update");
}

}  // namespace

void update(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers, std::int64_t count) {
  with_rule(rule, dtype, arrays, numbers,
            [&]<class Rule, class Typed, class T>(const Rule& of, const Typed& typed, T) {
              launch("update", grid_for(count, pack_width<T>), update_kernel<T, Rule>, of, typed, count);
            });
}

void update_rows(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
                 const std::int64_t* rows, std::int64_t count, std::int64_t width) {
  with_rule(rule, dtype, arrays, numbers,
            [&]<class Rule, class Typed, class T>(const Rule& of, const Typed& typed, T) {
              constexpr int pack = pack_width<T>;
              const auto aligned = [](const T* place) { return takes_packs<Pack<T, pack>>(place); };
              const bool packs = width % pack == 0 && aligned(typed.gradient) &&
                                 std::all_of(std::begin(typed.from), std::end(typed.from), aligned) &&
                                 std::all_of(std::begin(typed.to), std::end(typed.to), aligned);
              launch("update_rows", grid_for(count * width, packs ? pack : 1),
                     packs ? update_rows_kernel<pack, T, Rule> : update_rows_kernel<1, T, Rule>, of, typed,
                     rows, count, width);
            });
}

}  // namespace tapedeck::cuda
