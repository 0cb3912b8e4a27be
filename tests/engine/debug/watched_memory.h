// A recording whose memory is tracked, and ops with lines: shared by the tests of memory.
#pragma once

#include "engine/debug/memory/memory.h"
#include "engine/record/trace/source_location.h"
#include "tests/engine/record/recording.h"

namespace watched_memory {

using namespace tapedeck;
using protocol::MemoryGroup;

inline Tensor floats(std::int64_t count, float value = 1) {
  Tensor tensor = Tensor::allocate(DType::float32, {count});
  std::fill_n(tensor.writable_data<float>(), count, value);
  return tensor;
}

/// The line of the ops that run now; 0: none.
inline thread_local std::uint32_t present_line = 0;
struct Line {
  explicit Line(std::uint32_t line) : before(present_line) {
    set_capture_location([] { return present_line; });
    present_line = intern_location({"cell-1", "", line});
  }
  ~Line() { present_line = before; }
  std::uint32_t before;
};

struct Watched : Recording {
  explicit Watched(const RecorderOptions& options = {}) : Recording(options), reader(recorder) {}
  debug::MemoryReader reader;

  protocol::MemoryState state(std::uint64_t record = 0, MemoryGroup group = MemoryGroup::tensor) {
    return reader.state({protocol::if_there(record), group, 0, 1000});
  }
  protocol::MemoryCurve curve(std::uint32_t points = 4000) { return reader.curve({1, {}, points}); }
  /// Sum of the three holders at each record, from 1.
  std::vector<std::uint64_t> sums() {
    const protocol::MemoryCurve curve = this->curve();
    std::vector<std::uint64_t> sums{0};
    for (std::size_t i = 0; i < curve.records.size(); ++i)
      sums.push_back(static_cast<std::uint64_t>(curve.variables[i] + curve.tapes[i] + curve.program[i]));
    return sums;
  }
};

}  // namespace watched_memory
