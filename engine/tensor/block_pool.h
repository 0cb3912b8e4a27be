// The pool below storages and tensor bodies: blocks of memory by size class.
//
// Small blocks (up to 64 KiB) wait in a list of the thread that freed them, which hands its surplus to all
// threads; large ones wait in one cache for all threads. They go back to the system when nobody wanted them
// for three quarters of a second, and the oldest at once where the cache holds more than a quarter of the
// machine's memory. With the address sanitizer every block comes from and
// goes to the system, so that it sees each misuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/tensor/size_class.h"

namespace tapedeck::detail {

/// Uninitialised memory aligned to `block_alignment`. Throws ResourceExhaustedError naming both sizes where
/// it does not fit the machine beside what `account_in_use` counts.
void* allocate_block(std::size_t bytes);
/// `bytes` as it was given to allocate_block. From any thread, at any time, also while the program ends.
void free_block(void* block, std::size_t bytes) noexcept;

/// Counts bytes as held by somebody (negative: no longer).
void account_in_use(std::int64_t bytes) noexcept;

/// Memory that this process may use: the machine's, or its control group's limit where that is less.
std::uint64_t machine_memory();
/// "512 B", "7.3 TiB", "23 GiB": three figures at most.
std::string readable_bytes(std::uint64_t bytes);

}  // namespace tapedeck::detail
