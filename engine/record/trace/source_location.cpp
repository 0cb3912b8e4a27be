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

}  // namespace

static std::uint64_t bytes_owned_by(const SourceCall& call) {
  return call.text.size();
}

namespace {

struct HashCall {
  std::size_t operator()(const SourceCall& call) const {
    return std::hash<std::string>()(call.text) * 2 + call.whole_line;
  }
};

Interner<SourceCall, HashCall>& calls() {
  static Interner<SourceCall, HashCall> interner(std::uint64_t{32} << 20);
  return interner;
}

std::atomic<CaptureCallSite> capture_function{nullptr};
std::atomic<std::uint32_t (*)()> line_function{nullptr};

constexpr std::uint32_t no_location = UINT32_MAX;
[[gnu::tls_model("initial-exec")]] constinit thread_local CallSite given_site{no_location, 0};

}  // namespace

std::uint32_t intern_location(const SourceLocation& location) {
  return location.line == 0 ? 0 : locations().intern(location);
}

SourceLocation location_of(std::uint32_t number) {
  return locations().at(number);
}

std::uint32_t intern_call(const SourceCall& call) {
  return call.text.empty() ? 0 : calls().intern(call);
}

SourceCall call_of(std::uint32_t number) {
  return calls().at(number);
}

void set_capture_call_site(CaptureCallSite capture) {
  capture_function.store(capture, std::memory_order_release);
}

void set_capture_location(std::uint32_t (*capture)()) {
  line_function.store(capture, std::memory_order_release);
}

LocationScope::LocationScope(CallSite site) : before_(std::exchange(given_site, site)) {}
LocationScope::~LocationScope() {
  given_site = before_;
}

bool location_is_given() {
  return given_site.location != no_location;
}

CallSite capture_call_site() {
  if (given_site.location != no_location) [[unlikely]]
    return given_site;
  const CaptureCallSite capture = capture_function.load(std::memory_order_acquire);
  if (capture) return capture();
  const auto line = line_function.load(std::memory_order_acquire);
  return {line ? line() : 0, 0};
}

}  // namespace tapedeck
