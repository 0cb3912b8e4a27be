#include "engine/record/trace_chunk.h"

#include <sys/mman.h>

namespace tapedeck {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{2} << 20;  // a huge page

}  // namespace

Trace::Chunk* Trace::Chunk::make() {
  static_assert(sizeof(Chunk) <= chunk_bytes && sizeof(Chunk) > chunk_bytes / 8 * 7);
  void* mapped = ::mmap(nullptr, 2 * chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const bytes = static_cast<std::byte*>(mapped);
  const std::size_t before =
      (chunk_bytes - reinterpret_cast<std::uintptr_t>(mapped) % chunk_bytes) % chunk_bytes;
  if (before > 0) ::munmap(bytes, before);
  ::munmap(bytes + before + chunk_bytes, chunk_bytes - before);
  ::madvise(bytes + before, chunk_bytes, MADV_HUGEPAGE);
  return reinterpret_cast<Chunk*>(bytes + before);
}

void Trace::Chunk::destroy(Chunk* chunk) {
  if (!chunk) return;
  for (std::uint32_t i = 0; i < size; ++i)
    if (chunk->state(i)) chunk->slot(i).~Slot();
  delete chunk->errors;
  ::munmap(chunk, chunk_bytes);
}

}  // namespace tapedeck
