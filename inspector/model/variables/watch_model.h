// Expressions whose values the user follows from stop to stop.
#pragma once

#include <QSet>
#include <QStringList>

#include "inspector/model/variables/value_tree.h"

namespace tapedeck::inspector {

/// One row an expression. They run in the current frame, at each stop and after each cell, while the panel is
/// visible and a session is there: code, with all side effects that code may have. Those of a file wait for
/// accept().
class WatchModel : public ValueTree {
  Q_OBJECT
 public:
  WatchModel(Session* session, FramesModel* frames, QObject* parent = nullptr);

  QStringList expressions() const { return expressions_; }
  /// As a notebook has them; expressionsChanged() reports only changes by the user. The file is untrusted:
  /// none of them is evaluated, now or later, before the user accepts it, by accept(), by typing
  /// it into its row, or by adding it.
  void setExpressions(const QStringList& expressions);
  /// Those of the file that the user has neither accepted nor removed, in the order of the rows.
  QStringList waiting() const;

  Qt::ItemFlags flags(const QModelIndex& index) const override;
  /// Its name column has the expression itself.
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 public slots:
  void add(const QString& expression);
  void remove(int row);
  /// Accepts all that wait: they are evaluated from now on.
  void accept();
  /// Removes all that wait.
  void discard();

 signals:
  void expressionsChanged();
  void waitingChanged();

 protected:
  void refresh() override;
  QString rootExpression(const Node& root) const override;

 private:
  void append(const QString& expression);
  void evaluateFrom(int row);
  void take(int row, const protocol::Evaluation& answer);
  QString evaluateChannel() const;

  bool waits(const QModelIndex& index) const;
  void removeRow(int row);
  void tellWaiting();

  QStringList expressions_;
  QSet<QString> waiting_;
};

}  // namespace tapedeck::inspector
