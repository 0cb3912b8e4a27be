#include "engine/tensor/system_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/tensor/block_pool.h"

namespace tapedeck::detail {
namespace {

constexpr std::size_t huge_from = std::size_t{4} << 20;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t page_rounded(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void* map_huge(std::size_t bytes) {
  auto* start = static_cast<std::byte*>(map(bytes + huge_page));
  if (!start) return nullptr;
  const std::size_t skipped = (huge_page - reinterpret_cast<std::uintptr_t>(start) % huge_page) % huge_page;
  if (skipped > 0) munmap(start, skipped);
  if (skipped < huge_page) munmap(start + skipped + bytes, huge_page - skipped);
  madvise(start + skipped, bytes, MADV_HUGEPAGE);  // only a hint: if it fails, pages are small
  return start + skipped;
}

/// The number in a control group's file; no limit if it is "max" or missing.
std::uint64_t limit_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit && limit > 0 ? limit : UINT64_MAX;
}

}  // namespace

void* system_allocate(std::size_t bytes) noexcept {
  if (bytes >= huge_from) return map_huge(page_rounded(bytes));
  if (bytes >= mapped_from) return map(page_rounded(bytes));
  void* memory = nullptr;
  return posix_memalign(&memory, block_alignment, bytes) == 0 ? memory : nullptr;
}

void system_free(void* memory, std::size_t bytes) noexcept {
  if (bytes >= mapped_from)
    munmap(memory, page_rounded(bytes));
  else
    std::free(memory);
}

std::uint64_t machine_memory() {
  static const std::uint64_t bytes = [] {
    const auto physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return std::min({physical, limit_in("/sys/fs/cgroup/memory.max"),
                     limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
  }();
  return bytes;
}

std::string readable_bytes(std::uint64_t bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit > 0 && value < 9.95 ? "%.1f %s" : "%.0f %s", value,
                units[unit]);
  return text.data();
}

}  // namespace tapedeck::detail
