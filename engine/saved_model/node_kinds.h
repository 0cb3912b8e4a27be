// The kinds of nodes that saved models have.
#pragma once

#include <optional>
#include <string_view>

#include "engine/graph/graph.h"

namespace tapedeck::saved_model {

/// Nothing for those that only gradients have. Of host calls, those of arrays are saved (graph/arrays).
constexpr std::optional<std::string_view> saved_kind(graph::NodeKind kind) {
  using graph::NodeKind;
  switch (kind) {
    case NodeKind::parameter:
      return "parameter";
    case NodeKind::constant:
      return "constant";
    case NodeKind::read:
      return "read";
    case NodeKind::assign:
      return "assign";
    case NodeKind::op:
      return "op";
    case NodeKind::branch:
      return "branch";
    case NodeKind::loop:
      return "loop";
    case NodeKind::custom:
      return "custom";
    case NodeKind::tape_start:
      return "tape_start";
    case NodeKind::tape_stop:
      return "tape_stop";
    case NodeKind::tape_watch:
      return "tape_watch";
    case NodeKind::gradient:
      return "gradient";
    case NodeKind::host:
      return "array";
    case NodeKind::unwind:
    case NodeKind::absent:
      return std::nullopt;
  }
  return std::nullopt;
}

constexpr std::optional<graph::NodeKind> kind_of_name(std::string_view name) {
  for (int kind = 0; kind <= static_cast<int>(graph::NodeKind::gradient); ++kind)
    if (saved_kind(static_cast<graph::NodeKind>(kind)) == name) return static_cast<graph::NodeKind>(kind);
  return std::nullopt;
}

}  // namespace tapedeck::saved_model
