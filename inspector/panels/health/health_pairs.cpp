#include "inspector/panels/health/health_pairs.h"

#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/health/health_text.h"

namespace tapedeck::inspector {

HealthPairsModel::HealthPairsModel(HealthModel* model, QObject* parent)
    : QAbstractTableModel(parent), model_(model) {
  connect(model, &HealthModel::curvesChanged, this, &HealthPairsModel::look);
}

void HealthPairsModel::look() {
  beginResetModel();
  quantities_.clear();
  rows_.clear();
  const protocol::HealthRow* subject = model_->rowOf(model_->selected());
  if (subject && subject->kind == protocol::HealthKind::published) {
    std::map<std::pair<double, std::size_t>, Row> byStep;  // of one step there may be several
    for (const protocol::HealthCurve* curve : model_->curves()) {
      const int column = static_cast<int>(quantities_.size()) + 1;
      quantities_.push_back(curve->quantity);
      std::size_t again = 0;
      for (std::size_t i = 0; i < curve->steps.size(); ++i) {
        again = i > 0 && curve->steps[i] == curve->steps[i - 1] ? again + 1 : 0;
        Row& row = byStep[{curve->steps[i], again}];
        row.step = curve->steps[i];
        row.record = std::max<RecordNumber>(row.record, curve->records[i]);
        row.values[column] = curve->values[i];
      }
    }
    for (auto& [step, row] : byStep) rows_.push_back(std::move(row));
  }
  endResetModel();
}

int HealthPairsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int HealthPairsModel::columnCount(const QModelIndex&) const {
  return 1 + static_cast<int>(quantities_.size());
}

RecordNumber HealthPairsModel::recordAt(int row) const {
  return row < 0 || row >= rowCount() ? 0 : rows_[static_cast<std::size_t>(row)].record;
}

QVariant HealthPairsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::AccessibleTextRole) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  if (index.column() == 0) return countText(static_cast<quint64>(row.step));
  const auto value = row.values.find(index.column());
  if (value == row.values.end()) return {};
  const std::string& quantity = quantities_[static_cast<std::size_t>(index.column() - 1)];
  const QString text = healthValueText(quantity, value->second);
  // Such a pair is the one to look for.
  return quantity == "s·y" && !(value->second > 0) ? text + QStringLiteral(" ▲") : text;
}

QVariant HealthPairsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (section == 0) return role == Qt::DisplayRole ? QVariant(QStringLiteral("step")) : QVariant();
  const std::string& quantity = quantities_[static_cast<std::size_t>(section - 1)];
  if (role == Qt::DisplayRole) return healthQuantityText(quantity);
  return role == Qt::ToolTipRole ? QVariant(plainTip(healthQuantityTip(quantity))) : QVariant();
}

}  // namespace tapedeck::inspector
