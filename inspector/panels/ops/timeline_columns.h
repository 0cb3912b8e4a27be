// How wide the columns of the timeline are: as wide as their contents, until the user changes them.
#pragma once

#include <QHash>
#include <QObject>
#include <array>

#include "inspector/model/ops/records_model.h"

class QTableView;

namespace tapedeck::inspector {

/// Columns grow with the visible rows and never shrink while rows scroll by; a bound keeps one long text
/// from taking the whole table. A width that the user drags stays, also for the next start; a double click on
/// the edge gives the column back.
class TimelineColumns : public QObject {
  Q_OBJECT
 public:
  explicit TimelineColumns(QTableView* table);

  /// Measures the visible rows soon; `newest` is the largest record number that may become visible.
  void fit(quint64 newest);
  /// Another session: widths start over, but for the user's.
  void restart();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fitNow();
  void share();
  int shareWithCall(int most, int spare);
  int wanted(int column) const;
  int resultWidth() const;
  int rowsInSight() const;
  void sectionResized(int column, int width);
  QString key(int column) const;

  QTableView* table_;
  QHash<int, int> chosen_;  ///< by the user
  std::array<int, RecordsModel::ColumnCount> wanted_{};
  int results_ = 0;  ///< width of the results of shapes, as wanted_ is of columns
  quint64 newest_ = 0;
  bool due_ = false, fitting_ = false;
};

}  // namespace tapedeck::inspector
