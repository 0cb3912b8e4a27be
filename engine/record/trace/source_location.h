// Where in the user's program an op was called, provided by the host language; C++ programs have no
// locations.
#pragma once

#include <cstdint>
#include <string>

namespace tapedeck {

struct SourceLocation {
  std::string cell;        ///< id of the notebook cell; empty outside of notebooks
  std::string file;        ///< if there is no cell
  std::uint32_t line = 0;  ///< from 1; 0: unknown
  bool operator==(const SourceLocation&) const = default;
};

/// Number of a location, the same for equal ones; 0 for one without a line.
std::uint32_t intern_location(const SourceLocation& location);
SourceLocation location_of(std::uint32_t number);

/// What the program wrote where it called an op.
struct SourceCall {
  std::string text;         ///< with its line breaks; never empty
  bool whole_line = false;  ///< the host language knows the line alone, which `text` is
  bool operator==(const SourceCall&) const = default;
};

/// Number of a call, the same for equal ones; 0 for one without a text.
std::uint32_t intern_call(const SourceCall& call);
SourceCall call_of(std::uint32_t number);

/// Where an op was called.
struct CallSite {
  std::uint32_t location = 0;  ///< from intern_location
  std::uint32_t call = 0;      ///< from intern_call; 0: not known
};

/// Called on the thread that runs an op, for every op. It should decode a place in the program once and cache
/// its numbers.
using CaptureCallSite = CallSite (*)();
/// nullptr (the default): no locations.
void set_capture_call_site(CaptureCallSite capture);
/// The same for a host that knows lines alone.
void set_capture_location(std::uint32_t (*capture)());
CallSite capture_call_site();
inline std::uint32_t capture_location() {
  return capture_call_site().location;
}

/// While it lives, capture_call_site() of this thread says `site`: of a graph's node, the call that was
/// traced.
class LocationScope {
 public:
  explicit LocationScope(CallSite site);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;

 private:
  const CallSite before_;
};
/// Whether one lives on this thread: the host language does not run that line now.
bool location_is_given();

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local constinit std::uint64_t last_place;
}
/// Identifies the exact place in the program, finer than a line, that this thread's last capture_location
/// found; the same whenever the program reaches it.
inline std::uint64_t last_place() {
  return detail::last_place;
}
/// To be called by the capture function.
inline void set_last_place(std::uint64_t place) {
  detail::last_place = place;
}

}  // namespace tapedeck
