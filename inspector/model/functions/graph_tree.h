// A graph's rows as a tree: nodes of branches and loops below theirs. With a filter, only what every word of
// it is in, and what leads there.
#pragma once

#include <QAbstractItemModel>
#include <functional>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

class GraphTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column { Node, Op, Inputs, Attributes, Result, Place, Change, ColumnCount };
  enum Role { GoneRole = Qt::UserRole, ChangedRole, HeadingRole };

  explicit GraphTree(QObject* parent = nullptr);
  void setRows(std::vector<protocol::GraphRow> rows);
  void setFilter(const QString& words);
  /// How a row's place is written; without it: "line 7".
  void setPlaceText(std::function<QString(const protocol::GraphRow&)> text) { placeText_ = std::move(text); }

  const std::vector<protocol::GraphRow>& rows() const { return rows_; }
  /// As GraphStage counts them: without arguments and captured tensors, and without what a pass took out.
  int nodes() const { return nodes_; }
  int matches() const { return matches_; }  ///< of those, that the filter finds; all without one
  int others() const { return others_; }    ///< other rows with a number that the filter finds
  bool filtered() const { return !words_.isEmpty(); }

  const protocol::GraphRow* row(const QModelIndex& index) const;
  /// The node that an input of the row comes from; invalid where it is filtered out.
  QModelIndex inputNode(const QModelIndex& index, int input) const;
  /// The first node, or the next one below, that reads a result of this one.
  QModelIndex reader(const QModelIndex& index) const;
  QString textOf(const protocol::GraphRow& row, int column) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void build();
  void writeSearched();
  int place(const QModelIndex& index) const { return static_cast<int>(index.internalId()); }
  QModelIndex indexOf(int place, int column = 0) const;
  const std::vector<int>& childrenOf(int place) const;

  std::vector<protocol::GraphRow> rows_;
  std::vector<int> parents_;                ///< of each row; -1: none
  std::vector<int> positions_;              ///< among the shown children of its parent; -1: not shown
  std::vector<std::vector<int>> children_;  ///< shown ones, by row
  std::vector<int> top_;                    ///< shown ones that have no parent
  QStringList words_;
  QStringList searched_;  ///< of each row, what words are looked for in; empty: not written yet
  int nodes_ = 0, matches_ = 0, others_ = 0;
  std::function<QString(const protocol::GraphRow&)> placeText_;
};

}  // namespace tapedeck::inspector
