// Several elementwise functions, and reductions of what they give, in one pass over the elements: blocks that
// stay in the cache go through the loops of single functions. So results have the bits of these.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// What a fused loop reads or computes, in row-major order.
struct FusedValue {
  enum class Place : std::uint8_t {
    computed,  ///< by a call; only blocks of it exist
    kept,      ///< the same, written to `target`
    elements,  ///< `data` has them
    single,    ///< `data` has one value, which all elements have
    repeated   ///< element i is data[i / inner % extent]
  };
  Place place = Place::computed;
  DType dtype{};
  const void* data = nullptr;
  void* target = nullptr;
  std::int64_t inner = 1, extent = 1;
  bool overlaps =
      false;  ///< `target` is the memory of an operand, whose element i is in the place of its own
};

struct FusedCall {
  enum class Kind : std::uint8_t { unary, binary, select, cast, clip };
  Kind kind = Kind::unary;
  Unary unary{};
  Binary binary{};
  std::array<std::int32_t, 3> operands{-1, -1, -1};
  std::int32_t result = -1;
};

/// Of consecutive rows of a value that a call computes.
struct FusedReduction {
  Reduction op{};
  std::int32_t value = -1;
  std::int64_t row = 0;      ///< elements of a row: all, or no more than fused_block
  std::int64_t divisor = 0;  ///< what results are divided by, in their dtype; 0: nothing
  void* out = nullptr;
};

struct FusedLoop {
  std::int64_t count = 0;
  std::vector<FusedValue> values;
  std::vector<FusedCall> calls;  ///< behind those whose results they read
  std::vector<FusedReduction> reductions;
};

/// Elements that go through all calls before the next ones do.
constexpr std::int64_t fused_block = 4096;
/// How many elements each thread takes at once, so that no reduction's row is cut; 0: the rows do not fit
/// together.
std::int64_t fused_unit(std::int64_t count, const std::vector<std::int64_t>& rows);

/// Whether there are loops for the call; operands and result are floating-point numbers or truth values.
bool has_loop(const FusedCall& call, DType operand, DType result);

void run_fused(FusedLoop loop);

}  // namespace tapedeck::cpu
