// What this machine can do at most, which the benchmarks' figures are set beside: fused multiply-adds in
// registers, and vectors that are read, copied or added, where they lie in a cache or in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tapedeck::bench {

enum class Stream : std::uint8_t {
  read,  ///< of one vector
  copy,  ///< one read, one written
  add,   ///< two read, one written
};
constexpr int vectors_of(Stream stream) {
  return 1 + static_cast<int>(stream);
}
const char* name_of(Stream stream);

/// Each rate is measured when it is asked for first: the best of some rounds.
class Machine {
 public:
  explicit Machine(int threads) : threads_(threads) {}
  int threads() const { return threads_; }

  /// Operations per second, a fused multiply-add counted as two.
  double flops(bool float64);
  /// Bytes per second over vectors of `floats` float32 each, pass after pass, so that they lie as near as
  /// they fit; by stores through the caches or past them, whichever is faster.
  double bytes_per_second(Stream stream, std::int64_t floats);
  /// Where vectors of that many bytes together lie, spread over the threads: "L1", "L2", "L3" or "memory";
  /// "unknown" where the system does not say how large its caches are.
  std::string level(std::int64_t bytes) const;

 private:
  int threads_;
  double flops_[2] = {0, 0};
  std::map<std::pair<Stream, std::int64_t>, double> streams_;
};

/// What a benchmark's case has to do, to be set beside the machine's rate of the same.
struct Work {
  double flops = 0;
  bool float64 = false;
  double bytes = 0;
  Stream stream = Stream::copy;
  std::int64_t floats = 0;  ///< of one vector

  static Work nothing() { return {}; }
  /// A product of m × k by k × n.
  static Work product(std::int64_t m, std::int64_t k, std::int64_t n, bool float64 = false);
  static Work streamed(Stream stream, std::int64_t floats);
};

/// The members of a JSON object that say it: `, "share_of_peak": 0.87, "peak": "multiply_add"`, or null for
/// no work that the machine has a rate of.
std::string share_of_peak(Machine& machine, const Work& work, double seconds);

}  // namespace tapedeck::bench
