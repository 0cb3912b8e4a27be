#include "app/notebook/output/shown_folds.h"

#include <QHash>
#include <QTextBlock>
#include <QTextDocument>
#include <QUrl>
#include <algorithm>

#include "app/notebook/output/html/html_sanitizer.h"

namespace tapedeck::app {
namespace {

/// With the key of each.
QList<QPair<ShownFold, QPair<QString, int>>> keyedFolds(const QTextDocument& document) {
  QList<QPair<ShownFold, QPair<QString, int>>> keyed;
  QHash<QString, int> met;
  for (const ShownFold& fold : shownFolds(document))
    keyed.append({fold, {fold.summary, met[fold.summary]++}});
  return keyed;
}

}  // namespace

QList<ShownFold> shownFolds(const QTextDocument& document) {
  QList<ShownFold> folds;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment part = it.fragment();
      const QString address = part.charFormat().anchorHref();
      const int number = address.isEmpty() ? -1 : wantedFold(QUrl(address));
      if (number < 0) continue;
      if (folds.isEmpty() || folds.last().number != number) folds.append({number, false, {}});
      folds.last().summary += part.text();
    }
  }
  for (ShownFold& fold : folds) {
    fold.open = fold.summary.startsWith(u'\u25be');
    fold.summary = fold.summary.mid(1).simplified();
  }
  return folds;
}

void FoldMemory::keep(const QTextDocument& document, int number, bool open) {
  for (const auto& keyed : keyedFolds(document)) {
    if (keyed.first.number != number) continue;
    open_.removeIf([&](const Left& left) { return left.key == keyed.second; });
    open_.append({keyed.second, open});
  }
}

QSet<int> FoldMemory::toToggle(const QTextDocument& document) const {
  QSet<int> numbers;
  if (open_.isEmpty()) return numbers;
  for (const auto& [fold, key] : keyedFolds(document))
    for (const Left& left : open_)
      if (left.key == key && left.open != fold.open) numbers.insert(fold.number);
  return numbers;
}

}  // namespace tapedeck::app
