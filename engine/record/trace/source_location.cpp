#include "engine/record/trace/source_location.h"

#include <atomic>
#include <functional>
#include <utility>

#include "engine/record/trace/interner.h"

namespace tapedeck {
namespace detail {
thread_local constinit std::uint64_t last_place = 0;
}
namespace {

struct HashLocation {
  std::size_t operator()(const SourceLocation& location) const {
    const std::hash<std::string> hash;
    return (hash(location.cell) * 31 + hash(location.file)) * 31 + location.line;
  }
};

Interner<SourceLocation, HashLocation>& locations() {
  static Interner<SourceLocation, HashLocation> interner(std::uint64_t{32} << 20);
  return interner;
}

std::atomic<CaptureLocation> capture_function{nullptr};

constexpr std::uint32_t no_location = UINT32_MAX;
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t given_location = no_location;

}  // namespace

std::uint32_t intern_location(const SourceLocation& location) {
  return location.line == 0 ? 0 : locations().intern(location);
}

SourceLocation location_of(std::uint32_t number) {
  return locations().at(number);
}

void set_capture_location(CaptureLocation capture) {
  capture_function.store(capture, std::memory_order_release);
}

LocationScope::LocationScope(std::uint32_t location) : before_(std::exchange(given_location, location)) {}
LocationScope::~LocationScope() {
  given_location = before_;
}

bool location_is_given() {
  return given_location != no_location;
}

std::uint32_t capture_location() {
  if (given_location != no_location) [[unlikely]]
    return given_location;
  const CaptureLocation capture = capture_function.load(std::memory_order_acquire);
  return capture ? capture() : 0;
}

}  // namespace tapedeck
