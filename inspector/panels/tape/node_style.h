// Texts and looks of a tape's nodes and edges: the same on the canvas and in SVG files.
#pragma once

#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>

#include "inspector/model/tape/tape_graph.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

constexpr double node_title_size = 13;
constexpr double node_line_size = 11;
constexpr double edge_label_size = 10.5;
constexpr double frame_title_size = 10;
constexpr double badge_size = 9.5;

struct NodeText {
  QString title;
  QStringList lines;  ///< at most two
  QString badge;      ///< "custom ∂"; empty: none
  QString state;      ///< "next", "running", "failed", "∂ done", "NaN/inf"; empty: none
};
NodeText nodeText(const GraphNode& node);

/// Width of text in DejaVu Sans (or Verdana, which has nearly the same metrics), from a table: the layout
/// runs where there are no fonts at hand.
double nominalTextWidth(const QString& text, double size, bool bold);

/// Depends on nothing that changes while the op runs, so that a node keeps its box when its value arrives.
QSizeF nodeSize(const GraphNode& node);

/// The position of a node's badge: at its lower right corner where it shows a state, else at the lower left
/// one.
QRectF badgeRect(const QRectF& node, const QString& badge, bool state);

const Tint& nodeTint(const Theme& theme, const GraphNode& node);
bool isLeaf(const GraphNode& node);
/// A VJP, or an op that ran inside of one.
inline bool runsBack(const GraphNode& node) {
  return node.backward && node.kind != NodeKind::playback;
}

/// "∂ 2.5", "∂ 784×196" for gradients; the plain value or shape for forward edges.
QString edgeLabel(const GraphEdge& edge);

/// Behind the ops of a scope.
QColor laneColor(const Theme& theme);
/// Of what holds a NaN or an infinity.
QString oddText();
/// Of the frame around a custom gradient's ops.
QString frameTitle(const GraphNode& node);
/// Of the ops below the tape that are not on it.
QString apartTitle(const TapeGraph& graph);
/// Whether what is shown is PyTorch's graph, or ops of it.
bool isOfTorch(const TapeGraph& graph);

/// One line for screen readers: "op matmul, output 2×2 float32, value …".
QString spokenNode(const GraphNode& node);

}  // namespace tapedeck::inspector
