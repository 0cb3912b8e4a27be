// The aligned rows of a comparison as a table.
#pragma once

#include <QAbstractTableModel>

#include "inspector/model/compare/compare_model.h"

namespace tapedeck::inspector {

/// A sign and a word for what a row is: "= same", "≠ values differ", "± other attributes", "◇ other shapes",
/// "− left only", "+ right only". Colour says it once more, never alone.
QString rowSign(const protocol::ComparedRow& row);
QString rowWord(const protocol::ComparedRow& row);

class CompareRows : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Sign, LeftOp, LeftPlace, LeftShapes, RightOp, RightPlace, RightShapes, ColumnCount };
  enum Role {
    HereRole = Qt::UserRole,  ///< bool: the row was fetched
    KindRole,                 ///< RowKind as int
    DiffersRole,              ///< bool: its values do
    MissingRole,              ///< bool: this column's side does not have the op
    BackwardRole              ///< bool
  };
  CompareRows(CompareModel* model, const CellNames* cells, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  static bool isRight(int column) { return column >= RightOp; }

 private:
  QString text(const protocol::ComparedRow& row, int column) const;
  QString tip(const protocol::ComparedRow& row) const;

  CompareModel* model_;
  const CellNames* cells_;
};

}  // namespace tapedeck::inspector
