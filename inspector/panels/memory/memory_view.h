// The panel of memory: its curve, what is alive at the cursor, what grows, and what recomputing would save.
#pragma once

#include <functional>
#include <memory>

#include "inspector/model/runs/memory_model.h"
#include "inspector/panels/panel.h"

class QLabel;
class QTreeWidget;

namespace tapedeck::inspector {

class MemoryChart;

/// Keys, with the focus in it: P goes to the peak, G to what grows, B groups the table by the next kind, R
/// shows what recomputing would save, D draws what the recorder takes, [ and ] make the cursor the begin and
/// the end of its span, Enter goes to the op that made a row.
class MemoryView : public SessionPanel {
  Q_OBJECT
 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);
  ~MemoryView() override;

  QList<QAction*> menuActions() const override;
  QList<HandledKeys> handledKeys() const override;
  void setCellName(std::function<QString(const QString& id, RecordNumber record)> name);
  MemoryModel* model() const;
  MemoryChart* chart() const;
  QTreeWidget* table() const;
  QTreeWidget* savings() const;
  QLabel* growth() const;
  QLabel* summary() const;

 public slots:
  void showState();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
