// An optimiser's own figures as a table: a row for each step, a column for each quantity.
#pragma once

#include <QAbstractTableModel>
#include <map>
#include <vector>

#include "inspector/model/runs/health_model.h"

namespace tapedeck::inspector {

class HealthPairsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  HealthPairsModel(HealthModel* model, QObject* parent);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  RecordNumber recordAt(int row) const;

 private:
  void look();
  struct Row {
    double step = 0;
    RecordNumber record = 0;
    std::map<int, double> values;  ///< by column
  };

  HealthModel* model_;
  std::vector<std::string> quantities_;
  std::vector<Row> rows_;
};

}  // namespace tapedeck::inspector
