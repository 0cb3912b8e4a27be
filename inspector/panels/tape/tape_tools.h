// Navigation on a tape: groups to open and fold, a search, ancestors and descendants.
#pragma once

#include <QObject>
#include <QPointer>

#include "inspector/panels/tape/tape_canvas.h"

class QAction;
class QLabel;
class QLineEdit;
class QMenu;

namespace tapedeck::inspector {

class TapeTools : public QObject {
  Q_OBJECT
 public:
  /// Adds its actions to the panel, whose canvas it is.
  TapeTools(QWidget* panel, TapeCanvas* canvas);

  /// The part of the graph to show.
  Folding folding(const TapeGraph& graph) const;
  /// The canvas shows another graph.
  void laidOut();
  /// Above the canvas, hidden until the user searches.
  QWidget* searchBar() const { return bar_; }
  QLineEdit* field() const { return field_; }
  QAction* findAction() const { return find_; }
  /// What the tools are in a menu.
  void addTo(QMenu* menu) const;
  /// "3 groups folded · 20 of 60 nodes"; empty: all is shown.
  QString summary() const;
  /// Opens the groups around the cursor's node, and scrolls to it.
  void showCursor();

 signals:
  void foldingChanged();  ///< the graph is to be laid out again
  void summaryChanged();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  QAction* add(const QString& text, const QList<QKeySequence>& keys, const QString& tip);
  void addGroupActions();
  void addLineageActions();
  void addSearch();
  void choose(const QString& group, bool open);
  void openActed();
  void foldActed();
  void search();
  void go(int step);
  void reveal(int node);
  void toggleLineage(bool on);
  void look();
  bool lineageOn() const;
  /// Of the nodes that the question is about.
  std::vector<int> subjects(const TapeGraph& graph) const;

  QWidget* panel_;
  TapeCanvas* canvas_;
  Folding folding_;
  QList<QAction*> actions_;
  QAction *ancestors_ = nullptr, *descendants_ = nullptr, *only_ = nullptr;
  QAction *find_ = nullptr, *next_ = nullptr, *previous_ = nullptr;
  QWidget* bar_ = nullptr;
  QLineEdit* field_ = nullptr;
  QLabel* count_ = nullptr;
  std::vector<int> hits_;  ///< nodes of the whole graph
  int at_ = -1;            ///< index of the hit gone to; -1: none yet
  quint64 hits_at_ = 0;    ///< its key
  QSet<quint64> subjects_;
};

}  // namespace tapedeck::inspector
