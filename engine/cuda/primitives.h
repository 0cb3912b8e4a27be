// Library primitives on whole arrays: CUB's under nvcc. The emulation runs plain code on the stream.
#pragma once

#include <cstdint>

namespace tapedeck::cuda {

/// Sorts pairs by the lowest `bits` bits of their keys; pairs with equal keys keep their order. Results and
/// inputs are different arrays. Key: std::uint32_t or std::uint64_t.
template <class Key>
void sort_pairs(const Key* keys, const std::uint32_t* values, Key* sorted_keys, std::uint32_t* sorted_values,
                std::int64_t count, int bits = 8 * sizeof(Key));

/// Writes the numbers of the flags that are set, in order, and to `selected` how many there are.
void select_set(const std::uint8_t* flags, std::int64_t count, std::uint32_t* numbers,
                std::int64_t* selected);

}  // namespace tapedeck::cuda
