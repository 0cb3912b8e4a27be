// Casts between element types, and copies past the cache.
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "engine/cpu/vector/loop.h"
#include "engine/cpu/vector/wide.h"
#include "engine/tensor/narrow_formats.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

template <class From, class To>
struct Cast {
  static To apply(From x) { return static_cast<To>(x); }
};

template <class From, class To>
void add_one(LoopTable& table) {
  table.cast[static_cast<int>(dtype_of<From>())][static_cast<int>(dtype_of<To>())] =
      unary_loop<From, To, Cast<From, To>>;
}

template <class From>
void add_from(LoopTable& table) {
  add_one<From, bool>(table);
  add_one<From, std::int32_t>(table);
  add_one<From, std::int64_t>(table);
  add_one<From, float>(table);
  add_one<From, double>(table);
}

template <class Stored>
void widen(const std::uint16_t* __restrict from, float* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = Stored::to_float(from[i]);
}

template <class Stored>
void narrow(const float* __restrict from, std::uint16_t* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = Stored::from_float(from[i]);
}

void copy_bytes(void* __restrict target, const void* __restrict source, std::size_t bytes) {
  constexpr std::size_t line = register_bytes, lines = 4;
  auto* to = static_cast<char*>(target);
  const auto* from = static_cast<const char*>(source);
  std::size_t done = 0;
  for (; done + lines * line <= bytes; done += lines * line) {
    typedef char Line __attribute__((vector_size(line)));
    Line values[lines];
    std::memcpy(&values[0], from + done, line);
    std::memcpy(&values[1], from + done + line, line);
    std::memcpy(&values[2], from + done + 2 * line, line);
    std::memcpy(&values[3], from + done + 3 * line, line);
    std::memcpy(to + done, &values[0], line);
    std::memcpy(to + done + line, &values[1], line);
    std::memcpy(to + done + 2 * line, &values[2], line);
    std::memcpy(to + done + 3 * line, &values[3], line);
  }
  std::memcpy(to + done, from + done, bytes - done);
}

void stream(void* target, const void* source, std::size_t bytes) {
  auto* to = static_cast<char*>(target);
  const auto* from = static_cast<const char*>(source);
  std::size_t done = 0;
#if defined(__AVX512F__)
  for (; done + 64 <= bytes; done += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + done), _mm512_loadu_si512(from + done));
  _mm_sfence();
#elif defined(__AVX2__)
  for (; done + 32 <= bytes; done += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + done),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done)));
  _mm_sfence();
#elif defined(__SSE2__)
  for (; done + 16 <= bytes; done += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + done),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done)));
  _mm_sfence();
#endif
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace

void add_cast(LoopTable& table) {
  add_from<bool>(table);
  add_from<std::int32_t>(table);
  add_from<std::int64_t>(table);
  add_from<float>(table);
  add_from<double>(table);
  table.widen_float16 = widen<Float16>;
  table.widen_bfloat16 = widen<BFloat16>;
  table.narrow_float16 = narrow<Float16>;
  table.narrow_bfloat16 = narrow<BFloat16>;
  table.copy_bytes = copy_bytes;
  table.stream = stream;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
