// The panel Health: findings first, below them the layers' table or an optimiser's figures, and large curves.
#pragma once

#include <memory>

#include "inspector/model/runs/health_model.h"
#include "inspector/panels/panel.h"

class QComboBox;
class QLabel;
class QTableView;
class QTreeWidget;

namespace tapedeck::inspector {

class HealthCurves;
class HealthTable;
class WhyModel;

/// Keys: Enter in the list of findings goes to the op; C checks a custom gradient; V and B choose the page, M
/// recomputes more steps, Esc stops that. N, P and E choose the run.
class HealthView : public SessionPanel {
  Q_OBJECT
 public:
  HealthView(Session& session, CellNames& cells, WhyModel& why, QWidget* parent = nullptr);
  ~HealthView() override;

  QList<QAction*> menuActions() const override;
  QList<HandledKeys> handledKeys() const override;
  HealthModel* model() const;
  QComboBox* runs() const;
  QTreeWidget* findings() const;
  QLabel* sentence() const;  ///< of the selected finding, with its cure
  QLabel* sampling() const;  ///< how it samples
  HealthTable* table() const;
  QTableView* pairs() const;
  HealthCurves* curves() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
