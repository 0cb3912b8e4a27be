// The <details> that a rich text shows, as its user left them.
#pragma once

#include <QList>
#include <QPair>
#include <QSet>
#include <QString>

class QTextDocument;

namespace tapedeck::app {

struct ShownFold {
  int number = 0;  ///< among all of the text
  bool open = false;
  QString summary;  ///< as it reads
};

/// Those whose summary is shown, in their order.
QList<ShownFold> shownFolds(const QTextDocument& document);

/// Which folds of a text its user folded or unfolded. The text that takes its place when the cell runs again
/// gets them where its summaries read the same.
class FoldMemory {
 public:
  bool empty() const { return open_.isEmpty(); }
  /// The fold `number` of this document was left so by its user.
  void keep(const QTextDocument& document, int number, bool open);
  /// Those that are not as they were left.
  QSet<int> toToggle(const QTextDocument& document) const;

 private:
  struct Left {
    QPair<QString, int> key;  ///< the summary, and how many before it read the same
    bool open = false;
  };
  QList<Left> open_;
};

}  // namespace tapedeck::app
