// The table of Health: variables and activations in the layers' order, a strip over the steps in each cell.
#pragma once

#include <QAbstractTableModel>
#include <QStyledItemDelegate>
#include <QTableView>

#include "inspector/model/runs/health_model.h"

namespace tapedeck::inspector {

/// Columns: the name, and the quantities of variables and activations.
class HealthTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  HealthTableModel(HealthModel* model, QObject* parent);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  HealthModel* model() const { return model_; }
  /// nullptr: the subject has no such quantity.
  const protocol::HealthStrip* strip(const QModelIndex& index) const;
  /// A norm of the newest sampled step whose tensor has NaN or infinite elements.
  bool isBroken(const QModelIndex& index) const;
  static const std::string& quantity(int column);  ///< of columns from 1 on
  int rowOfSubject(HealthSubjectId subject) const;

 private:
  void look();

  HealthModel* model_;
  int rows_ = 0;
};

/// The name; of other columns the value as text, and its strip as bars whose height is its logarithm (of
/// shares the share itself).
class HealthStripDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

class HealthTable : public QTableView {
  Q_OBJECT
 public:
  explicit HealthTable(HealthModel* model, QWidget* parent = nullptr);
  HealthTableModel* rows() const { return rows_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void fit();
  void tellVisible();

  HealthModel* model_;
  HealthTableModel* rows_;
};

}  // namespace tapedeck::inspector
