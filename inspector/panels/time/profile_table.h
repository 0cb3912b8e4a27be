// The rows of Time's table: totals, or Python's gaps.
#pragma once

#include <QAbstractTableModel>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

class ProfileTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    name_column,
    calls_column,
    self_column,
    share_column,
    total_column,
    mean_column,
    max_column,
    flops_column,
    bytes_column,
    roof_column,
    bound_column,
    column_count
  };

  ProfileTable(ProfileModel* model, CellNames* cells, QObject* parent = nullptr);

  /// The rows are Python's gaps instead of totals.
  void setGaps(bool gaps);
  bool gaps() const { return gaps_; }
  RecordNumber slowest(int row) const;
  /// Of which record that is, a span of time to be shown; nothing for one that is not here.
  QString text(int row) const { return index(row, name_column).data().toString(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : column_count;
  }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  void take();
  QString missingTimesText(const protocol::ProfileRow& row) const;  ///< of GPUs' times that are not known
  QString rowText(const protocol::ProfileRow& row, int column) const;
  QString gapRowText(const protocol::ProfileGap& gap, int column) const;
  QString nameOf(const protocol::ProfileRow& row) const;

  ProfileModel* model_;
  CellNames* cells_;
  bool gaps_ = false;
  std::vector<protocol::ProfileRow> rows_;
  std::vector<protocol::ProfileGap> gap_rows_;
  int gap_column_ = self_column;
  Qt::SortOrder gap_order_ = Qt::DescendingOrder;
};

}  // namespace tapedeck::inspector
