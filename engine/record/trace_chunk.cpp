#include "engine/record/trace_chunk.h"

#include <sys/mman.h>

namespace tapedeck {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

Trace::Chunk* Trace::Chunk::make() {
  static_assert(sizeof(Chunk) <= huge_page && sizeof(Chunk) > huge_page / 8 * 7);
  void* mapped = ::mmap(nullptr, 2 * huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const bytes = static_cast<std::byte*>(mapped);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
  if (before > 0) ::munmap(bytes, before);
  ::munmap(bytes + before + huge_page, huge_page - before);
  ::madvise(bytes + before, huge_page, MADV_HUGEPAGE);
  return reinterpret_cast<Chunk*>(bytes + before);
}

void Trace::Chunk::destroy(Chunk* chunk) {
  if (!chunk) return;
  for (std::uint32_t i = 0; i < size; ++i)
    if (chunk->state(i)) chunk->slot(i).~Slot();
  delete chunk->errors;
  ::munmap(chunk, huge_page);
}

}  // namespace tapedeck
