// The panel of the tensor.
#pragma once

#include <memory>

#include "inspector/model/session/session.h"
#include "inspector/panels/panel.h"

class QLineEdit;
class QTabBar;

namespace tapedeck::inspector {

class HeatOptions;
class PinsList;
class PinsModel;
class SliceBar;
class StatisticsPanel;
class TensorActions;
class TensorCanvas;
class TensorModel;
class WhyActions;

/// Shows the tensors of the record at the session's cursor, or one that was pinned: a strip of them, and one
/// as numbers, heat map or histogram. Keys, with the focus in it: Alt+1, Alt+2, Alt+3 for the three; Alt+R
/// the reshape box; Alt+P pins, Alt+Shift+P lists the pins; Ctrl+C copies the selected numbers; arrows move;
/// in the heat map + and − zoom and F fits.
class TensorView : public SessionPanel {
  Q_OBJECT
 public:
  explicit TensorView(Session& session, QWidget* parent = nullptr);
  ~TensorView() override;

  QList<QAction*> menuActions() const override;
  QList<HandledKeys> handledKeys() const override;
  /// The questions are in the context menu, and are about the tensor and element selected here.
  void setWhy(WhyActions& why);
  TensorModel* model() const;
  PinsModel* pins() const;
  PinsList* pinsList() const;
  HeatOptions* heatOptions() const;
  TensorActions* work() const;
  TensorCanvas* canvas() const;
  QTabBar* chips() const;
  QLineEdit* reshapeBox() const;
  SliceBar* slices() const;
  StatisticsPanel* statistics() const;
  QString title() const;         ///< "W:0 · matmul in 1 · 784×10 · float32 · /cpu:0"
  QString reshapeError() const;  ///< as shown below the box, or of the colours' range; empty: none
  QString line() const;          ///< below the values: figures, or the newest message

  /// The same for all contents: the panels around it must not move when they change.
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
