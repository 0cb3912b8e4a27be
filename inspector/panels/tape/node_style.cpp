#include "inspector/panels/tape/node_style.h"

#include <algorithm>

#include "engine/protocol/foreign_tapes.h"
#include "inspector/model/format.h"
#include "inspector/model/torch_words.h"

namespace tapedeck::inspector {

namespace {

// Advances of ' ' … '~' in thousandths of the em.
constexpr int regular_advances[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
constexpr int bold_advances[] = {
    348, 456,  521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415,  380, 365, 696, 696,  696,
    696, 696,  696, 696, 696, 696,  696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830,  683,
    683, 821,  837, 372, 372, 775,  637, 995, 837, 850, 733, 850, 770, 720,  682, 812, 774, 1103, 771,
    724, 725,  457, 365, 457, 838,  500, 500, 675, 716, 593, 716, 678, 435,  716, 712, 343, 343,  665,
    343, 1042, 712, 687, 716, 716,  493, 595, 478, 712, 652, 924, 645, 652,  582, 712, 365, 712,  838};
constexpr int other_advance = 640, other_bold_advance = 720;  // Greek, arrows, mathematics

constexpr double padding = 14;
constexpr double minimum_width = 96, maximum_width = 168;
constexpr double op_height = 60, leaf_height = 44;

QString shapeAndType(const GraphNode& node) {
  QStringList parts{node.shape, node.dtype};
  if (!node.copies) parts << node.device;  // its title says it
  parts.removeAll(QString());
  return parts.join(QStringLiteral(" · "));
}

/// "56 ops", "49 VJPs".
QString foldedText(const GraphNode& node) {
  const QString what = node.kind == NodeKind::vjp ? QStringLiteral("VJP") : QStringLiteral("op");
  return countText(static_cast<quint64>(node.folded)) + QLatin1Char(' ') + what +
         (node.folded == 1 ? QString() : QStringLiteral("s"));
}

QString stateBadge(const GraphNode& node) {
  switch (node.state) {
    case protocol::RecordState::pending:
      return QStringLiteral("next");
    case protocol::RecordState::running:
      return QStringLiteral("running");
    case protocol::RecordState::failed:
      return QStringLiteral("failed");
    case protocol::RecordState::done:
      break;
  }
  return {};
}

/// What hangs at the node's right foot.
QString stateText(const GraphNode& node) {
  if (const QString badge = stateBadge(node); !badge.isEmpty()) return badge;
  if (node.complete) return QStringLiteral("∂ done");
  return node.odd ? oddText() : QString();
}

QString kindName(const GraphNode& node) {
  if (!node.fold.isEmpty())
    return node.kind == NodeKind::vjp ? QStringLiteral("folded VJPs of") : QStringLiteral("folded group");
  switch (node.kind) {
    case NodeKind::op:
      if (node.copies) return QStringLiteral("op that moves values:");
      return node.backward ? QStringLiteral("backward op") : QStringLiteral("op");
    case NodeKind::custom:
      return QStringLiteral("function with a custom gradient");
    case NodeKind::playback:
      return QStringLiteral("playback");
    case NodeKind::vjp:
      return node.customGradient ? QStringLiteral("custom VJP of") : QStringLiteral("VJP of");
    case NodeKind::variable:
      return QStringLiteral("variable");
    case NodeKind::more:
      return QStringLiteral("more of the tape:");
    case NodeKind::constant:
      break;
  }
  return QStringLiteral("constant");
}

}  // namespace

NodeText nodeText(const GraphNode& node) {
  NodeText text;
  if (!node.fold.isEmpty()) {
    text.title = node.kind == NodeKind::vjp ? QStringLiteral("∂ ") + node.op : node.op;
    text.lines << foldedText(node) + (node.shape.isEmpty() ? QString() : QStringLiteral(" · ") + node.shape);
    if (!node.here.isEmpty()) text.lines << QStringLiteral("cursor at ") + node.here;
    text.state = stateText(node);
    return text;
  }
  const QString second = node.preview.isEmpty() ? node.name : node.preview;
  switch (node.kind) {
    case NodeKind::constant:
      text.title = node.preview.isEmpty() ? node.op : node.preview;
      text.lines << shapeAndType(node);
      break;
    case NodeKind::variable:
      text.title = node.op;
      text.lines << (node.preview.isEmpty() ? shapeAndType(node)
                                            : node.shape + QStringLiteral(" · ") + node.preview);
      break;
    case NodeKind::vjp:
      text.title = QStringLiteral("∂ ") + node.op;
      text.lines << shapeAndType(node) << second;
      break;
    case NodeKind::playback:
      text.title = node.op == torchPlayback ? torchPlayback : QStringLiteral("playback");
      text.lines << (node.op == torchPlayback ? QStringLiteral("the graph runs backwards")
                                              : QStringLiteral("the tape runs backwards"));
      break;
    case NodeKind::more:
      text.title = node.op;
      text.lines << QStringLiteral("Click or Enter shows them");
      break;
    case NodeKind::op:
    case NodeKind::custom:
      text.title = node.copies ? QStringLiteral("⇄ ") + node.op : node.op;
      text.lines << shapeAndType(node) << second;
      break;
  }
  text.lines.removeAll(QString());
  text.state = stateText(node);
  if (node.customGradient) text.badge = QStringLiteral("custom ∂");
  return text;
}

QString oddText() {
  return QStringLiteral("NaN/inf");
}

double nominalTextWidth(const QString& text, double size, bool bold) {
  int thousandths = 0;
  for (const uint code : text.toUcs4()) {
    if (code >= 32 && code < 127)
      thousandths += (bold ? bold_advances : regular_advances)[code - 32];
    else
      thousandths += bold ? other_bold_advance : other_advance;
  }
  return thousandths * size / 1000;
}

QSizeF nodeSize(const GraphNode& node) {
  if (!isLeaf(node)) return {maximum_width, op_height};
  GraphNode without_value = node;
  without_value.preview.clear();
  const NodeText text = nodeText(without_value);
  double width = nominalTextWidth(text.title, node_title_size, true);
  for (const QString& line : text.lines)
    width = std::max(width, nominalTextWidth(line, node_line_size, false));
  return {std::clamp(std::ceil(width + 2 * padding), minimum_width, maximum_width), leaf_height};
}

bool isLeaf(const GraphNode& node) {
  return node.kind == NodeKind::variable || node.kind == NodeKind::constant;
}

QRectF badgeRect(const QRectF& node, const QString& badge, bool state) {
  const double width = std::min(nominalTextWidth(badge, badge_size, true) + 14, 66.0);
  const double left = state ? node.right() - 4 - width : node.left() + 4;
  return {left, node.bottom() - 7, width, 15};
}

const Tint& nodeTint(const Theme& theme, const GraphNode& node) {
  if (node.state == protocol::RecordState::failed || node.odd) return theme.error;
  if (node.customGradient) return theme.custom;
  switch (node.kind) {
    case NodeKind::variable:
      return theme.variable;
    case NodeKind::constant:
      return theme.constant;
    case NodeKind::vjp:
    case NodeKind::playback:
      return theme.backward;
    case NodeKind::more:
      return theme.constant;
    case NodeKind::custom:
      return theme.custom;
    case NodeKind::op:
      break;
  }
  if (node.copies) return theme.constant;
  return node.backward ? theme.backward : theme.forward;
}

QString edgeLabel(const GraphEdge& edge) {
  if (!edge.backward) return edge.label;
  return edge.label.isEmpty() ? QStringLiteral("∂") : QStringLiteral("∂ ") + edge.label;
}

QColor laneColor(const Theme& theme) {
  return mix(theme.background, theme.text, theme.dark ? 0.07 : 0.045);
}

QString frameTitle(const GraphNode& node) {
  return (node.backward ? QStringLiteral("∂ %1: your VJP") : QStringLiteral("%1: your ops")).arg(node.op);
}

bool isOfTorch(const TapeGraph& graph) {
  if (graph.tape) return graph.tape >= protocol::first_foreign_tape;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const GraphNode& node) { return isTorchOp(node.op); });
}

QString apartTitle(const TapeGraph& graph) {
  return isOfTorch(graph) ? QStringLiteral("Not in the graph:") : QStringLiteral("Not on a tape:");
}

QString spokenNode(const GraphNode& node) {
  QStringList parts{kindName(node) + QLatin1Char(' ') + node.op};
  if (!node.fold.isEmpty()) parts << foldedText(node);
  if (!node.here.isEmpty()) parts << QStringLiteral("the cursor is at %1 in it").arg(node.here);
  if (!node.shape.isEmpty()) parts << node.shape + QLatin1Char(' ') + node.dtype;
  if (!node.device.isEmpty()) parts << QStringLiteral("on %1").arg(node.device);
  if (!node.preview.isEmpty()) parts << QStringLiteral("value %1").arg(node.preview);
  if (!stateBadge(node).isEmpty()) parts << stateBadge(node);
  if (node.complete) parts << QStringLiteral("its gradient is complete");
  if (node.odd) parts << QStringLiteral("holds NaN or infinity");
  if (node.offTape)
    parts << (isTorchOp(node.op) ? QStringLiteral("in no graph") : QStringLiteral("on no tape"));
  return parts.join(QStringLiteral(", "));
}

}  // namespace tapedeck::inspector
