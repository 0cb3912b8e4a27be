// A tape graph in words, for the tests of it and of its model.
#pragma once

#include <QStringList>

#include "inspector/model/tape/tape_graph.h"

namespace tapedeck::test {

using inspector::GraphEdge;
using inspector::GraphNode;
using inspector::NodeKind;
using inspector::TapeGraph;

/// Two ops and their playback, as RecordsText reads it.
inline constexpr const char* square = R"(
op mul(x:=3, x) -> y:=9 tape=1
op add(y, W:=1) -> z:=10 tape=1
playback gradient(z) -> dx, dW tape=1
  vjp add(one:=1) -> dy:=1, dW:=1 of=2 tape=1
  vjp mul(dy) -> dx1:=3, dx2:=3 of=1 tape=1
    op mul(dy, x) -> dx1
    op mul(dy, x) -> dx2
  op add(dx1, dx2) -> dx:=6 tape=1
)";

/// A custom gradient, inside of which ops run.
inline constexpr const char* noisy = R"(
custom noisy_square(x:=3) -> y:=9.1 tape=1
  op square(x) -> s:=9
  op random_normal() -> n:=0.1
  op add(s, n) -> y1:=9.1
op mul(y, two:=2) -> z:=18.2 tape=1
playback gradient(z) -> dx tape=1
  vjp mul(one:=1) -> dy:=2, 0 of=5 tape=1
  vjp noisy_square(dy) -> dx:=12 of=1 tape=1 custom
    op mul(two2:=2, x) -> t:=6
    op mul(t, dy) -> dx
)";

/// "mul#1", "W:0", "vjp add#4".
inline QString nameOf(const TapeGraph& graph, int index) {
  const GraphNode& node = graph.nodes.at(static_cast<std::size_t>(index));
  if (!node.record) return node.name.isEmpty() ? node.op : node.name;
  return (node.kind == NodeKind::vjp ? QStringLiteral("vjp ") : QString()) + node.op +
         QStringLiteral("#%1").arg(node.record);
}

/// "mul#1 -> add#2", "vjp add#4 => vjp mul#5" (backward), "… => W:0 (arrives)".
inline QStringList edgesOf(const TapeGraph& graph) {
  QStringList result;
  for (const GraphEdge& edge : graph.edges)
    result << nameOf(graph, edge.from) + (edge.backward ? QStringLiteral(" => ") : QStringLiteral(" -> ")) +
                  nameOf(graph, edge.to) + (edge.arrives ? QStringLiteral(" (arrives)") : QString());
  result.sort();
  return result;
}

inline const GraphNode& nodeOf(const TapeGraph& graph, quint64 record) {
  return graph.nodes.at(static_cast<std::size_t>(graph.nodeOf(record)));
}

}  // namespace tapedeck::test
