#include "inspector/panels/tape/tape_svg.h"

#include <QXmlStreamWriter>
#include <algorithm>
#include <cmath>

#include "inspector/panels/tape/legend.h"
#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

constexpr double legend_gap = 26;

QString number(double value) {
  return QString::number(value, 'f', 1);
}

/// Characters that XML 1.0 can't hold, and users' names may contain.
QString printable(QString text) {
  for (QChar& character : text)
    if ((character < QChar(0x20) && character != QLatin1Char('\t')) || character.unicode() >= 0xFFFE)
      character = QChar(0xFFFD);
  return text;
}

QString elidedText(const QString& text, double width, double size, bool bold) {
  if (nominalTextWidth(text, size, bold) <= width) return text;
  QString cut = text;
  while (!cut.isEmpty() && nominalTextWidth(cut + QChar(0x2026), size, bold) > width) cut.chop(1);
  return cut + QChar(0x2026);
}

class SvgWriter {
 public:
  SvgWriter(const TapeGraph& graph, const GraphLayout& layout)
      : graph_(graph), layout_(layout), xml_(&bytes_) {
    xml_.setAutoFormatting(true);
    xml_.setAutoFormattingIndent(1);
  }

  QByteArray write(const QString& title) {
    const QVector<LegendEntry> legend = fileEntries();
    const double legend_width = legendWidth();
    QRectF view = layout_.bounds.isNull() ? QRectF(0, 0, 480, 80) : layout_.bounds;
    const double legend_height =
        24 * static_cast<double>((legend.size() + columns(view.width()) - 1) / columns(view.width()));
    view.setWidth(std::max(view.width(), legend_width + 48));
    const double legend_top = view.bottom() + legend_gap / 2;
    view.setHeight(view.height() + legend_gap + legend_height);
    start(view, title);
    xml_.writeEmptyElement("rect");
    attributes({{"x", number(view.x())},
                {"y", number(view.y())},
                {"width", number(view.width())},
                {"height", number(view.height())},
                {"fill", "#ffffff"}});
    if (graph_.empty())
      text({view.x() + 24, view.y() + 44}, "Nothing is on the tape.", 13, theme_.faintText, false);
    for (const GraphLayout::Lane& lane : layout_.lanes) writeLane(lane);
    for (const GraphLayout::Frame& frame : layout_.frames) writeFrame(frame);
    for (std::size_t i = 0; i < graph_.edges.size(); ++i)
      writeEdge(graph_.edges[i], layout_.edges[i], layout_.labels[i]);
    if (!layout_.apart.isNull())
      text({layout_.apart.center().x(), layout_.apart.center().y() + 4}, apartTitle(graph_), node_line_size,
           theme_.faintText, false, "middle");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!layout_.nodes[i].isNull()) writeNode(graph_.nodes[i], layout_.nodes[i]);
    writeLegend(legend, {view.x() + 24, legend_top}, columns(view.width()), legend_width);
    xml_.writeEndElement();
    xml_.writeEndDocument();
    return bytes_;
  }

 private:
  using Attributes = std::initializer_list<std::pair<const char*, QString>>;
  void attributes(Attributes list) {
    for (const auto& [name, value] : list) xml_.writeAttribute(QLatin1String(name), value);
  }

  /// A file has no bookmarks: they are the window's.
  static QVector<LegendEntry> fileEntries() {
    QVector<LegendEntry> entries = legendEntries();
    entries.removeIf([](const LegendEntry& entry) { return entry.bookmark; });
    return entries;
  }
  static double legendWidth() {
    double width = 0;
    for (const LegendEntry& entry : fileEntries())
      width = std::max(width, nominalTextWidth(entry.text, 11, false));
    return width + 60;
  }
  static qsizetype columns(double width) {
    return std::clamp<qsizetype>(static_cast<qsizetype>((width - 24) / legendWidth()), 1, 4);
  }

  void start(const QRectF& view, const QString& title) {
    xml_.writeStartDocument();
    xml_.writeStartElement("svg");
    xml_.writeDefaultNamespace("http://www.w3.org/2000/svg");
    attributes({{"width", number(view.width())},
                {"height", number(view.height())},
                {"viewBox",
                 QStringLiteral("%1 %2 %3 %4")
                     .arg(number(view.x()), number(view.y()), number(view.width()), number(view.height()))},
                {"font-family", "DejaVu Sans, Verdana, sans-serif"}});
    xml_.writeTextElement("title", printable(title.isEmpty() ? QStringLiteral("Gradient tape") : title));
  }

  void text(QPointF at, const QString& string, double size, const QColor& color, bool bold,
            const char* anchor = "start") {
    xml_.writeStartElement("text");
    attributes({{"x", number(at.x())},
                {"y", number(at.y())},
                {"font-size", number(size)},
                {"fill", color.name()},
                {"text-anchor", anchor}});
    if (bold) xml_.writeAttribute("font-weight", "bold");
    xml_.writeCharacters(printable(string));
    xml_.writeEndElement();
  }

  void box(const QRectF& rect, const QColor& fill, const QColor& stroke, double width, double radius,
           const char* dashes = nullptr) {
    xml_.writeEmptyElement("rect");
    attributes({{"x", number(rect.x())},
                {"y", number(rect.y())},
                {"width", number(rect.width())},
                {"height", number(rect.height())},
                {"rx", number(radius)},
                {"stroke", stroke.name()},
                {"stroke-width", number(width)},
                {"fill", fill.isValid() ? fill.name() : QStringLiteral("none")}});
    if (dashes) xml_.writeAttribute("stroke-dasharray", dashes);
  }

  void writeLane(const GraphLayout::Lane& lane) {
    box(lane.rect, laneColor(theme_), laneColor(theme_), 1, 8);
    text({lane.title.center().x(), lane.title.bottom() - 4}, lane.text, node_title_size, theme_.faintText,
         false, "middle");
  }

  void writeFrame(const GraphLayout::Frame& frame) {
    const GraphNode& node = graph_.nodes[frame.node];
    box(frame.rect, mix(theme_.background, theme_.custom.stroke, 0.04), theme_.custom.stroke, 1.2, 8, "2 3");
    if (frame.title.isNull()) return;
    text({frame.title.center().x(), frame.title.bottom() - 4}, frameTitle(node), frame_title_size,
         theme_.custom.stroke, false, "middle");
  }

  void arrowHead(QPointF tip, QPointF before, const QColor& color, bool open) {
    const QPointF along = tip - before;
    const double length = std::hypot(along.x(), along.y());
    if (length < 1e-6) return;
    const QPointF back = tip - along / length * 9;
    const QPointF side = QPointF(-along.y(), along.x()) / length * 4.2;
    const QPointF left = back + side, right = back - side;
    xml_.writeEmptyElement("path");
    attributes(
        {{"d", QStringLiteral("M%1,%2 L%3,%4 L%5,%6%7")
                   .arg(number(left.x()), number(left.y()), number(tip.x()), number(tip.y()),
                        number(right.x()), number(right.y()), open ? QString() : QStringLiteral(" Z"))},
         {"fill", open ? QStringLiteral("none") : color.name()},
         {"stroke", color.name()},
         {"stroke-width", "1.4"}});
  }

  void writeEdge(const GraphEdge& edge, const Curve& curve, const QRectF& label) {
    if (curve.size() < 4) return;
    const QColor color = edge.backward ? theme_.backward.stroke : theme_.forward.stroke;
    QString path = QStringLiteral("M%1,%2").arg(number(curve[0].x()), number(curve[0].y()));
    for (std::size_t i = 1; i < curve.size(); ++i)
      path += (i % 3 == 1 ? QStringLiteral(" C") : QStringLiteral(" ")) + number(curve[i].x()) +
              QLatin1Char(',') + number(curve[i].y());
    xml_.writeStartElement("g");
    xml_.writeAttribute("class", edge.backward ? "backward" : "forward");
    if (!edge.label.isEmpty()) xml_.writeTextElement("title", printable(edgeLabel(edge)));
    xml_.writeEmptyElement("path");
    attributes({{"d", path}, {"fill", "none"}, {"stroke", color.name()}, {"stroke-width", "1.4"}});
    if (edge.backward) xml_.writeAttribute("stroke-dasharray", "6 4");
    arrowHead(curve.back(), curve[curve.size() - 2], color, edge.backward);
    if (edge.backward && !label.isNull()) {
      box(label, theme_.background, theme_.background, 0, 3);
      text({label.center().x(), label.center().y() + 3.6},
           elidedText(edgeLabel(edge), label.width(), edge_label_size, false), edge_label_size, color, false,
           "middle");
    }
    xml_.writeEndElement();
  }

  void writeNode(const GraphNode& node, const QRectF& rect) {
    const Tint& tint = nodeTint(theme_, node);
    const NodeText content = nodeText(node);
    xml_.writeStartElement("g");
    xml_.writeAttribute("class", isLeaf(node) ? "leaf" : node.backward ? "backward" : "forward");
    xml_.writeTextElement("title", printable(spokenNode(node)));
    const double radius = node.kind == NodeKind::constant ? rect.height() / 2 : 5;
    const bool quiet = node.offTape || node.kind == NodeKind::more;
    if (!node.fold.isEmpty())
      for (const double behind : {6.0, 3.0})
        box(rect.translated(behind, -behind), tint.fill, tint.stroke, 1, radius);
    box(rect, tint.fill, tint.stroke, node.current ? 3 : 1.2, radius, quiet ? "3 3" : nullptr);
    if (node.kind == NodeKind::variable) box(rect.adjusted(3, 3, -3, -3), {}, tint.stroke, 0.8, 3);
    const double width = rect.width() - 16, centre = rect.center().x();
    double y = rect.center().y() + 4.5 - 7.5 * static_cast<double>(content.lines.size());
    text({centre, y}, elidedText(content.title, width, node_title_size, true), node_title_size, tint.stroke,
         true, "middle");
    for (const QString& line : content.lines)
      text({centre, y += 15}, elidedText(line, width, node_line_size, false), node_line_size, theme_.text,
           false, "middle");
    for (const bool state : {false, true}) {
      const QString& word = state ? content.state : content.badge;
      if (word.isEmpty()) continue;
      const QRectF tab = badgeRect(rect, word, state);
      box(tab, tint.stroke, tint.stroke, 1, 7);
      text({tab.center().x(), tab.bottom() - 4}, word, badge_size, theme_.background, true, "middle");
    }
    xml_.writeEndElement();
  }

  void writeLegend(const QVector<LegendEntry>& legend, QPointF corner, qsizetype columns, double width) {
    xml_.writeStartElement("g");
    xml_.writeAttribute("class", "legend");
    for (qsizetype i = 0; i < legend.size(); ++i) {
      const QPointF at =
          corner + QPointF(static_cast<double>(i % columns) * width, static_cast<double>(i / columns) * 24);
      const LegendEntry& entry = legend[i];
      if (entry.edge) {
        const QColor color = entry.backward ? theme_.backward.stroke : theme_.forward.stroke;
        xml_.writeEmptyElement("path");
        attributes({{"d", QStringLiteral("M%1,%2 h28").arg(number(at.x()), number(at.y() + 8))},
                    {"stroke", color.name()},
                    {"stroke-width", "1.4"}});
        if (entry.backward) xml_.writeAttribute("stroke-dasharray", "6 4");
        arrowHead(at + QPointF(34, 8), at + QPointF(20, 8), color, entry.backward);
      } else {
        const Tint& tint = nodeTint(theme_, entry.node);
        const QRectF sample(at.x(), at.y(), 34, 16);
        if (!entry.node.fold.isEmpty()) box(sample.translated(3, -3), tint.fill, tint.stroke, 1, 4);
        box(sample, tint.fill, tint.stroke, entry.node.current ? 3 : 1.2,
            entry.node.kind == NodeKind::constant ? 8 : 4, entry.node.offTape ? "3 3" : nullptr);
        if (entry.node.kind == NodeKind::variable)
          box(sample.adjusted(3, 3, -3, -3), {}, tint.stroke, 0.8, 2);
      }
      text(at + QPointF(44, 12), entry.text, 11, theme_.text, false);
    }
    xml_.writeEndElement();
  }

  const Theme theme_ = Theme::light();
  const TapeGraph& graph_;
  const GraphLayout& layout_;
  QByteArray bytes_;
  QXmlStreamWriter xml_;
};

}  // namespace

QByteArray tapeGraphSvg(const TapeGraph& graph, const GraphLayout& layout, const QString& title) {
  return SvgWriter(graph, layout).write(title);
}

}  // namespace tapedeck::inspector
