// The panel Compare: two sides op by op, where they differ first, and the operands and curves there.
#pragma once

#include <memory>

#include "inspector/model/compare/compare_rows.h"
#include "inspector/panels/panel.h"

class QLabel;

namespace tapedeck::inspector {

class CompareBar;
class CompareCurvesView;
class CompareStrip;
class OperandsView;
class RowTable;

/// Keys, with the focus in it: L compares the last two runs of a cell, S swaps the
/// sides, A and B put what follows the cursor on the left and right, W a branch beside its original; F finds
/// the first difference, N and P go from one changed row to the next; Enter goes to a row's op, Alt+Enter
/// to the right side's; O shows operands, C curves, in which arrows walk; Esc stops the running job.
class CompareView : public SessionPanel {
  Q_OBJECT
 public:
  CompareView(Session& session, CellNames& cells, const MakeTraceReader& readers = {},
              QWidget* parent = nullptr);
  ~CompareView() override;

  QList<QAction*> menuActions() const override;
  QList<HandledKeys> handledKeys() const override;
  CompareModel* model() const;
  RowTable* table() const;
  QLabel* sentence() const;
  CompareBar* bar() const;
  CompareStrip* strip() const;
  OperandsView* operands() const;
  CompareCurvesView* curves() const;

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
