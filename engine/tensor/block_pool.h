// The pool below storages and tensor bodies: blocks of memory by size class.
//
// Small blocks (up to 64 KiB) are cached in a list of the thread that freed them, and the surplus in a list
// shared by all threads; large ones are cached in one list shared by all threads. Blocks return to the system
// when they have been unused for three quarters of a second, and the oldest at once if the cache exceeds a
// quarter of the machine's memory. With the address sanitizer every block comes from and returns to the
// system, so that the sanitizer sees each misuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/tensor/size_class.h"

namespace tapedeck::detail {

/// Uninitialised memory aligned to `block_alignment`. Throws ResourceExhaustedError naming both sizes if the
/// machine has not enough memory beside what `account_in_use` counts.
void* allocate_block(std::size_t bytes);
/// `bytes` as passed to allocate_block. Callable from any thread at any time, even during program exit.
void free_block(void* block, std::size_t bytes) noexcept;

/// Adds to the number of bytes in use (negative: released).
void account_in_use(std::int64_t bytes) noexcept;

/// Memory that this process may use: the machine's, or its control group's limit where that is less.
std::uint64_t machine_memory();
/// "512 B", "7.3 TiB", "23 GiB": at most three digits.
std::string readable_bytes(std::uint64_t bytes);

}  // namespace tapedeck::detail
