#include "inspector/panels/tape/legend.h"

namespace tapedeck::inspector {

namespace {

LegendEntry nodeEntry(const char* text, NodeKind kind, bool custom = false, bool current = false) {
  LegendEntry entry;
  entry.text = QString::fromUtf8(text);
  entry.node.kind = kind;
  entry.node.customGradient = custom;
  entry.node.current = current;
  return entry;
}

LegendEntry offTapeEntry(const char* text) {
  LegendEntry entry = nodeEntry(text, NodeKind::op);
  entry.node.offTape = true;
  return entry;
}

LegendEntry foldEntry(const char* text) {
  LegendEntry entry = nodeEntry(text, NodeKind::op);
  entry.node.fold = QStringLiteral("any");
  return entry;
}

LegendEntry oddEntry(const char* text) {
  LegendEntry entry = nodeEntry(text, NodeKind::op);
  entry.node.odd = true;
  return entry;
}

LegendEntry bookmarkEntry(const char* text) {
  LegendEntry entry = nodeEntry(text, NodeKind::op);
  entry.bookmark = true;
  return entry;
}

LegendEntry edgeEntry(const char* text, bool backward) {
  LegendEntry entry;
  entry.text = QString::fromUtf8(text);
  entry.edge = true;
  entry.backward = backward;
  return entry;
}

}  // namespace

const QVector<LegendEntry>& legendEntries() {
  static const QVector<LegendEntry> entries{
      nodeEntry("op", NodeKind::op),
      nodeEntry("variable", NodeKind::variable),
      nodeEntry("constant", NodeKind::constant),
      nodeEntry("∂ VJP of an op", NodeKind::vjp),
      nodeEntry("custom gradient", NodeKind::custom, true),
      nodeEntry("cursor", NodeKind::op, false, true),
      offTapeEntry("on no tape"),
      foldEntry("folded group"),
      oddEntry("NaN or infinity"),
      bookmarkEntry("bookmark"),
      edgeEntry("value", false),
      edgeEntry("∂ gradient", true),
  };
  return entries;
}

}  // namespace tapedeck::inspector
