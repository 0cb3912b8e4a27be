#include "engine/cpu/dispatch.h"

#include "engine/cpu/loops/other_loops.h"
#include "engine/tensor/error.h"

namespace tapedeck::cpu {

#define TAPEDECK_DECLARE_SET(set)           \
  namespace set {                           \
  void add_unary(LoopTable& table);         \
  void add_binary(LoopTable& table);        \
  void add_cast(LoopTable& table);          \
  void add_reduce(LoopTable& table);        \
  void add_gemm(LoopTable& table);          \
  void add_random(LoopTable& table);        \
  void add_pooling(LoopTable& table);       \
  void add_statistics(LoopTable& table);    \
  void add_rotations(LoopTable& table);     \
  void add_resample(LoopTable& table);      \
  void add_fourier(LoopTable& table);       \
  void add_update(LoopTable& table);        \
  void add_recurrent(LoopTable& table);     \
  void add_normalization(LoopTable& table); \
  }                                         \
  static LoopTable table_of_##set() {       \
    LoopTable table;                        \
    set::add_unary(table);                  \
    set::add_binary(table);                 \
    set::add_cast(table);                   \
    set::add_reduce(table);                 \
    set::add_gemm(table);                   \
    set::add_random(table);                 \
    set::add_pooling(table);                \
    set::add_statistics(table);             \
    set::add_rotations(table);              \
    set::add_resample(table);               \
    set::add_fourier(table);                \
    set::add_update(table);                 \
    set::add_recurrent(table);              \
    set::add_normalization(table);          \
    add_other_loops(table);                 \
    return table;                           \
  }

TAPEDECK_DECLARE_SET(baseline)
#ifdef TAPEDECK_X86_64
TAPEDECK_DECLARE_SET(avx2)
TAPEDECK_DECLARE_SET(avx512)
#endif

InstructionSet best_instruction_set() {
#ifdef TAPEDECK_X86_64
  static const InstructionSet best = [] {
    __builtin_cpu_init();
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx512 ? InstructionSet::avx512 : avx2 ? InstructionSet::avx2 : InstructionSet::baseline;
  }();
  return best;
#else
  return InstructionSet::baseline;
#endif
}

namespace {

const LoopTable& table_of(InstructionSet set) {
#ifdef TAPEDECK_X86_64
  if (set == InstructionSet::avx512) {
    static const LoopTable table = table_of_avx512();
    return table;
  }
  if (set == InstructionSet::avx2) {
    static const LoopTable table = table_of_avx2();
    return table;
  }
#endif
  (void)set;
  static const LoopTable table = table_of_baseline();
  return table;
}

const LoopTable*& current() {
  static const LoopTable* table = &table_of(best_instruction_set());
  return table;
}

}  // namespace

const LoopTable& loops() {
  return *current();
}

void use_instruction_set(InstructionSet set) {
  if (set > best_instruction_set())
    fail<UnimplementedError>("use_instruction_set: this processor or build lacks instruction set ",
                             static_cast<int>(set), "; the widest is ",
                             static_cast<int>(best_instruction_set()));
  current() = &table_of(set);
}

}  // namespace tapedeck::cpu
