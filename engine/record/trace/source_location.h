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

/// Called on the thread that runs an op, for every op: returns a number from intern_location, or 0. It should
/// decode a place in the program once and cache its number.
using CaptureLocation = std::uint32_t (*)();
/// nullptr (the default): no locations.
void set_capture_location(CaptureLocation capture);
std::uint32_t capture_location();

/// While it lives, capture_location() of this thread says `location`: of a graph's node, the line that was
/// traced.
class LocationScope {
 public:
  explicit LocationScope(std::uint32_t location);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;

 private:
  const std::uint32_t before_;
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
