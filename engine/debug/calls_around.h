// Which calls of graph functions records are in, while they are read in order.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/record/trace/trace.h"

namespace tapedeck::debug {

/// A gradient that the trace of a graph function made, or one of its VJPs.
inline bool is_traced_gradient(const RecordHead& head) {
  if (head.kind != EventKind::call || !head.backward) return false;
  const std::string name = name_of(head.name());
  return name == "gradient" || name.starts_with("VJP of ");
}

/// A call of a graph function, and no part of one.
inline bool is_function_call(const RecordHead& head) {
  return head.kind == EventKind::call && name_of(head.name()).ends_with(')');
}

/// The side of a branch that ran (graph::branch_name).
inline bool is_branch_side(const RecordHead& head) {
  return head.kind == EventKind::call && !is_function_call(head) && name_of(head.name()).starts_with("if");
}

/// Memory: as deep as records nest, for each thread.
class CallsAround {
 public:
  struct Place {
    std::uint32_t call = 0;   ///< the innermost record of kind `call` around it; 0: none, or it was not read
    std::uint16_t calls = 0;  ///< how many there are around it, gradients and their VJPs not counted
  };
  /// To be called for each record once, in their order.
  Place of(const RecordGlance& record) {
    std::vector<Open>& open = open_[record.head.thread];
    while (!open.empty() && open.back().number != record.head.parent) open.pop_back();
    const Place place = open.empty() ? Place{} : open.back().inside;
    if (record.head.kind != EventKind::op) {
      Place inside = place;
      if (record.head.kind == EventKind::call) {
        inside.call = record.number;
        if (!is_traced_gradient(record.head)) ++inside.calls;
      }
      open.push_back({record.number, inside});
    }
    return place;
  }

 private:
  struct Open {
    std::uint32_t number = 0;
    Place inside;
  };
  std::unordered_map<std::uint16_t, std::vector<Open>> open_;
};

}  // namespace tapedeck::debug
