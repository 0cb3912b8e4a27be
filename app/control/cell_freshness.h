// Which cells show outdated outputs, and why.
#pragma once

#include <QHash>
#include <QObject>
#include <QSet>

#include "app/control/cell_runner.h"
#include "app/control/python_names.h"

namespace tapedeck::app {

/// A cell is marked as edited since it ran, as run in an earlier session, or as "may be out of date". The
/// last applies to a cell A that read a name which cell B assigned after A ran, where B is the cell that A
/// had the name from, or is above A. Assignments below A don't count: notebooks continue that way (x = x +
/// 1), and half of every notebook that is run from top to bottom would be marked.
///
/// The cost of a run grows with the names in its cell, not with the number of cells.
class CellFreshness : public QObject {
  Q_OBJECT
 public:
  CellFreshness(Document* document, CellRunner* runner, Kernel* kernel, QObject* parent = nullptr);

  CellMark mark(const QString& cellId) const { return cells_.value(cellId).mark; }
  /// A sentence; empty: there is no mark.
  QString why(const QString& cellId) const { return cells_.value(cellId).why; }
  /// The marked cells, in the order of the notebook.
  QStringList marked() const;

 signals:
  void changed(const QString& cellId, tapedeck::app::CellMark mark, const QString& why);

 private:
  struct Run {
    QString source;
    PythonNames names;
    quint64 order = 0;   ///< of its end, in this session; 0: it was an earlier one
    bool known = false;  ///< the source is the one that ran
    /// Of the names that it read: the cells that it had them from.
    QHash<QString, QString> from;
    QString changedName, changedBy;  ///< the first name that was assigned since
    CellMark mark = CellMark::none;
    QString why;
  };
  void load();
  void end(const QString& cellId);
  void forget(const QString& cellId);
  void dropNames(const QString& cellId, const Run& run);
  void endSession();
  void judge(const QString& cellId);

  Document* document_;
  QHash<QString, QString> sent_;
  QHash<QString, Run> cells_;
  QHash<QString, QSet<QString>> readers_;  ///< of a name
  QHash<QString, QString> assigners_;      ///< of a name, the cell that ran last
  quint64 order_ = 0;
};

}  // namespace tapedeck::app
