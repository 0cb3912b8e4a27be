// Fresh memory from the system, for the block pool.
#pragma once

#include <cstddef>

namespace tapedeck::detail {

/// Blocks of at least this size are mapped from the system individually and returned at once; smaller ones
/// come from the C library's heap.
constexpr std::size_t mapped_from = std::size_t{1} << 20;

/// Aligned to at least 64 bytes; from 4 MiB on to 2 MiB and in huge pages, which cost a page fault for 2 MiB
/// instead of one for 4 KiB. nullptr if the system has no memory.
void* system_allocate(std::size_t bytes) noexcept;
/// `bytes` as passed to system_allocate.
void system_free(void* memory, std::size_t bytes) noexcept;

}  // namespace tapedeck::detail
