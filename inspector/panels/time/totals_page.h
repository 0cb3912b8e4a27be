// Time's page Totals: a table of the time by op, line, cell or scope, or of Python's gaps.
#pragma once

#include <QWidget>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/session/cell_names.h"

class QButtonGroup;
class QLineEdit;
class QTableView;

namespace tapedeck::inspector {

class ProfileTable;

/// Buttons that say what a row is, a filter, and below them the table, which has the page's focus.
class TotalsPage : public QWidget {
  Q_OBJECT
 public:
  TotalsPage(ProfileModel* model, CellNames* cells, QWidget* parent = nullptr);

  QTableView* table() const { return table_; }
  QLineEdit* filter() const { return filter_; }
  /// The slowest op of the row that is chosen; 0: none is.
  RecordNumber slowest() const;
  /// Of op, line, cell, scope, Python: the next, wrapping around.
  void nextGroup();
  /// Leaves the filter for the first row.
  void enterTable();

 signals:
  void clicked(tapedeck::inspector::RecordNumber slowest);  ///< of the row
  void doubleClicked();

 private:
  QLayout* makeBar();
  void makeTable();
  void setGroup(int group);

  ProfileModel* model_;
  CellNames* cells_;
  QButtonGroup* groups_ = nullptr;
  QLineEdit* filter_ = nullptr;
  ProfileTable* rows_ = nullptr;
  QTableView* table_ = nullptr;
};

}  // namespace tapedeck::inspector
