// What a fused loop does with each piece of its values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "engine/cpu/dispatch.h"

namespace tapedeck::cpu {

/// Where a thread finds elements: in memory, or in its buffer. Element `at` of all is element `in_unit` of
/// the unit that the thread works on.
struct FusedAddress {
  const std::byte* base = nullptr;  ///< nullptr: the buffer
  std::int64_t offset = 0;          ///< in the buffer, in bytes
  std::int64_t at_step = 0, in_unit_step = 0;

  std::byte* in(std::byte* buffer, std::int64_t at, std::int64_t in_unit) const {
    const std::byte* start = base ? base : buffer + offset;
    return const_cast<std::byte*>(start) + at * at_step + in_unit * in_unit_step;
  }
};

/// What is done with each piece.
struct FusedStep {
  enum class Kind : std::uint8_t { unary, binary, select, clip, repeat, fill, copy };
  Kind kind = Kind::unary;
  UnaryLoop unary = nullptr;
  BinaryLoop binary = nullptr;
  SelectLoop select = nullptr;
  LoopTable::ClipLoop clip = nullptr;
  std::array<FusedAddress, 3> from;
  std::array<std::int64_t, 3> steps{};  ///< 0: one element for all
  FusedAddress to;
  std::size_t size = 0;                ///< of an element that is repeated, filled in or copied
  std::int64_t inner = 1, extent = 1;  ///< repeat
  bool streams = false;                ///< copy: past the cache
};

template <class T>
void repeat_into(const void* data, std::int64_t inner, std::int64_t extent, std::int64_t at, std::int64_t n,
                 void* out) {
  const T* from = static_cast<const T*>(data);
  T* to = static_cast<T*>(out);
  if (inner == 1) {
    for (std::int64_t done = 0, place = at % extent; done < n; place = 0) {
      const std::int64_t length = std::min(extent - place, n - done);
      std::memcpy(to + done, from + place, static_cast<std::size_t>(length) * sizeof(T));
      done += length;
    }
    return;
  }
  std::int64_t place = at / inner % extent, rest = inner - at % inner;
  for (std::int64_t done = 0; done < n; rest = inner) {
    const std::int64_t length = std::min(rest, n - done);
    std::fill_n(to + done, length, from[place]);
    done += length;
    if (++place == extent) place = 0;
  }
}

inline void repeat_elements_of(std::size_t size, const void* data, std::int64_t inner, std::int64_t extent,
                               std::int64_t at, std::int64_t n, void* out) {
  const auto into = size == 8   ? repeat_into<std::uint64_t>
                    : size == 4 ? repeat_into<std::uint32_t>
                                : repeat_into<std::uint8_t>;
  into(data, inner, extent, at, n, out);
}

inline void run_fused_step(const FusedStep& step, std::byte* buffer, std::int64_t at, std::int64_t in_unit,
                           std::int64_t n) {
  const auto from = [&](std::size_t i) { return step.from[i].in(buffer, at, in_unit); };
  std::byte* to = step.to.in(buffer, at, in_unit);
  switch (step.kind) {
    case FusedStep::Kind::unary:
      return step.unary(from(0), step.steps[0], to, n);
    case FusedStep::Kind::binary:
      return step.binary(from(0), step.steps[0], from(1), step.steps[1], to, n);
    case FusedStep::Kind::select:
      return step.select(from(0), step.steps[0], from(1), step.steps[1], from(2), step.steps[2], to, n);
    case FusedStep::Kind::clip:
      return step.clip(from(0), from(1), from(2), to, n);
    case FusedStep::Kind::repeat:
      return repeat_elements_of(step.size, from(0), step.inner, step.extent, at, n, to);
    case FusedStep::Kind::fill:
      return repeat_elements_of(step.size, from(0), n, 1, 0, n, to);
    case FusedStep::Kind::copy: {
      const auto bytes = static_cast<std::size_t>(n) * step.size;
      if (step.streams)
        loops().stream(to, from(0), bytes);
      else
        loops().copy_bytes(to, from(0), bytes);
    }
  }
}

}  // namespace tapedeck::cpu
