// Loops of optimisers' steps.
#include <utility>

#include "engine/backend/kernels.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/update_rules.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// A result may overwrite its own operand, but no other input: iterations do not depend on each other.
template <class T, class Rule, std::size_t... k>
void run_rule(const UpdateArrays& arrays, const double* numbers, std::int64_t count,
              std::index_sequence<k...>) {
  const Rule rule{Numbers<T>{numbers}};
  const T* gradient = static_cast<const T*>(arrays.gradient);
  const T* from[] = {static_cast<const T*>(arrays.from[k])...};
  T* to[] = {static_cast<T*>(arrays.to[k])...};
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    T values[] = {from[k][i]...};
    rule(gradient[i], values[k]...);
    ((to[k][i] = values[k]), ...);
  }
}

template <class T, class Rule>
void update_loop(const UpdateArrays& arrays, const double* numbers, std::int64_t count) {
  run_rule<T, Rule>(arrays, numbers, count, std::make_index_sequence<1 + Rule::slots>());
}

template <class T>
void add_rules(LoopTable& table) {
  for (int i = 0; i < update_count; ++i)
    visit_rule<T>(static_cast<Update>(i), [&]<class Rule>() {
      table.update[i][static_cast<int>(dtype_of<T>())] = update_loop<T, Rule>;
    });
}

}  // namespace

void add_update(LoopTable& table) {
  add_rules<float>(table);
  add_rules<double>(table);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
