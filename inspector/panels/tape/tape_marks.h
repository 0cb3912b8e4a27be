// The highlights on the tape: hits of a search, ancestors and descendants.
#pragma once

#include <QHash>
#include <QSet>
#include <QStringList>
#include <span>
#include <vector>

#include "inspector/panels/tape/layout_worker.h"

namespace tapedeck::inspector {

/// By the keys of the whole graph's nodes; a fold has the marks of what is in it.
struct TapeMarks {
  QSet<quint64> hits;
  bool lineage = false;  ///< what is neither ancestor nor descendant is dimmed
  QSet<quint64> ancestors, descendants;
  bool operator==(const TapeMarks&) const = default;
};

/// Of one shown node.
enum TapeMark : quint8 {
  hit_mark = 1,
  ancestor_mark = 2,
  descendant_mark = 4,
  dim_mark = 8,
  bookmark_mark = 16
};

/// By shown node; empty: nothing is marked.
inline std::vector<quint8> marksOf(const LaidOutGraph& laid, const TapeMarks& marks) {
  if (marks.hits.isEmpty() && !marks.lineage) return {};
  std::vector<quint8> result(laid.graph.nodes.size());
  for (std::size_t i = 0; i < laid.whole.nodes.size(); ++i) {
    if (laid.shown[i] < 0) continue;
    const quint64 key = nodeKey(laid.whole.nodes[i]);
    quint8& mark = result[static_cast<std::size_t>(laid.shown[i])];
    if (marks.hits.contains(key)) mark |= hit_mark;
    if (marks.ancestors.contains(key)) mark |= ancestor_mark;
    if (marks.descendants.contains(key)) mark |= descendant_mark;
  }
  if (marks.lineage)
    for (quint8& mark : result)
      if (!(mark & (ancestor_mark | descendant_mark))) mark |= dim_mark;
  return result;
}

/// What tooltips and screen readers say of the bookmarks of one shown node: "bookmark: too large here", "2
/// bookmarks in it". By shown node; `notes` by record.
inline QHash<int, QString> bookmarksOf(const LaidOutGraph& laid, const QHash<RecordNumber, QString>& notes) {
  QHash<int, QStringList> found;
  for (std::size_t i = 0; i < laid.whole.nodes.size() && !notes.isEmpty(); ++i) {
    const GraphNode& node = laid.whole.nodes[i];
    if (laid.shown[i] >= 0 && node.record && notes.contains(node.record))
      found[laid.shown[i]] << notes.value(node.record);
  }
  QHash<int, QString> texts;
  for (auto [node, all] : found.asKeyValueRange()) {
    const bool folded = !laid.graph.nodes[static_cast<std::size_t>(node)].fold.isEmpty();
    QString text =
        all.size() == 1 ? QStringLiteral("bookmark") : QStringLiteral("%1 bookmarks").arg(all.size());
    if (folded) text += QStringLiteral(" in it");
    all.removeAll(QString());
    texts[node] = all.isEmpty() ? text : text + QStringLiteral(": ") + all.join(QStringLiteral("; "));
  }
  return texts;
}

}  // namespace tapedeck::inspector
