// Expressions whose values the user follows from stop to stop.
#pragma once

#include <QStringList>

#include "inspector/model/variables/value_tree.h"

namespace tapedeck::inspector {

/// One row an expression. They run in the current frame, at each stop and after each cell, while somebody
/// looks and a session is there: code, which may do what code does.
class WatchModel : public ValueTree {
  Q_OBJECT
 public:
  WatchModel(Session* session, FramesModel* frames, QObject* parent = nullptr);

  QStringList expressions() const { return expressions_; }
  /// As a notebook has them; expressionsChanged() tells of what the user changes alone. Runs nothing: the
  /// file may be anybody's. The next stop or end of a cell evaluates them.
  void setExpressions(const QStringList& expressions);

  Qt::ItemFlags flags(const QModelIndex& index) const override;
  /// Its name column has the expression itself.
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 public slots:
  void add(const QString& expression);
  void remove(int row);

 signals:
  void expressionsChanged();

 protected:
  void refresh() override;
  QString rootExpression(const Node& root) const override;

 private:
  void append(const QString& expression);
  void evaluateFrom(int row);
  void take(int row, const protocol::Evaluation& answer);
  QString evaluateChannel() const;

  QStringList expressions_;
};

}  // namespace tapedeck::inspector
