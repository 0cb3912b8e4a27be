// Subnormal numbers (below 2⁻¹²⁶ in float32, 2⁻¹⁰²² in float64): processors compute with them about forty
// times more slowly. On request ops read and write them as 0.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapedeck {

/// Applies to all ops from now on, on all of the engine's threads; off at the start unless the environment
/// variable TAPEDECK_FLUSH_DENORMAL is 1. Returns false, without effect, if the processor does not support
/// it.
bool set_flush_denormal(bool flush);
bool flush_denormal();

namespace detail {
extern std::atomic<bool> flush_denormal;
std::uint32_t subnormal_mode();
void set_subnormal_mode(std::uint32_t mode);
extern const std::uint32_t flushing_mode, exact_mode;
}  // namespace detail

/// Sets this thread's subnormal mode to that of the ops while it lives, and restores it afterwards: other
/// code on the thread (NumPy, the user's own) is not affected.
class SubnormalScope {
 public:
  SubnormalScope() {
    if (detail::flush_denormal.load(std::memory_order_relaxed)) [[unlikely]]
      enter(detail::flushing_mode);
  }
  /// For calls from an op into code outside the engine, and for work on behalf of another thread.
  explicit SubnormalScope(std::uint32_t mode) { enter(mode); }
  ~SubnormalScope() {
    if (entered_) [[unlikely]]
      detail::set_subnormal_mode(before_);
  }
  SubnormalScope(const SubnormalScope&) = delete;

 private:
  void enter(std::uint32_t mode) {
    before_ = detail::subnormal_mode();
    entered_ = before_ != mode;
    if (entered_) detail::set_subnormal_mode(mode);
  }

  std::uint32_t before_ = 0;
  bool entered_ = false;
};

}  // namespace tapedeck
