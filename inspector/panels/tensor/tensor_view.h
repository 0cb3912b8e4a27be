// The panel of the tensor.
#pragma once

#include <memory>

#include "inspector/model/session.h"
#include "inspector/panels/panel.h"

class QLineEdit;
class QTabBar;

namespace tapedeck::inspector {

class SliceBar;
class StatisticsPanel;
class TensorCanvas;
class TensorModel;

/// Shows the tensors of the record at the session's cursor: a strip of them, and one as numbers, heat map or
/// histogram. Keys, with the focus in it: Alt+1, Alt+2, Alt+3 for the three; Alt+R the reshape box; Ctrl+C
/// copies the selected numbers; arrows move; in the heat map + and − zoom and F fits.
class TensorView : public SessionPanel {
  Q_OBJECT
 public:
  explicit TensorView(Session* session, QWidget* parent = nullptr);
  ~TensorView() override;

  TensorModel* model() const;
  TensorCanvas* canvas() const;
  QTabBar* chips() const;
  QLineEdit* reshapeBox() const;
  SliceBar* slices() const;
  StatisticsPanel* statistics() const;
  QString title() const;         ///< "W:0 · matmul in 1 · 784×10 · float32 · /cpu:0"
  QString reshapeError() const;  ///< as it stands below the box; empty: none

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
