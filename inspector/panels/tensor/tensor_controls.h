// The buttons above the tensor: how it is shown, in which shape, and what is pinned.
#pragma once

#include <QWidget>

#include "inspector/model/tensor/pins_model.h"
#include "inspector/panels/tensor/tensor_canvas.h"

class QActionGroup;
class QLineEdit;
class QStackedWidget;
class QToolButton;

namespace tapedeck::inspector {

class HeatOptions;
class PinsList;

/// In as many lines as the width asks for, the same for every way to show a tensor. Its actions belong to
/// `view`, so that their keys work wherever in it the focus is.
class TensorControls : public QWidget {
  Q_OBJECT
 public:
  TensorControls(TensorModel* model, PinsModel* pins, TensorCanvas* canvas, QWidget* view);

  QLineEdit* reshapeBox() const { return reshape_; }
  PinsList* pinsList() const { return list_; }
  HeatOptions* heatOptions() const { return heat_; }
  /// In less room.
  void setNarrow(bool narrow);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void addMode(QLayout* row, const QString& text, TensorMode mode, const QKeySequence& key,
               const QString& tip);
  void makeModes();
  void makeOptions();
  void makeHeat();
  void makeLogarithmic();
  void makeReshape();
  void makePins();
  void setReshapeWidth();
  void modeChanged();
  void layoutChanged();
  void pinsChanged();
  QAction* addAction(const QString& text, const QKeySequence& key, const QString& tip);

  TensorModel* model_;
  PinsModel* pins_;
  TensorCanvas* canvas_;
  QWidget* view_;
  QActionGroup* modes_ = nullptr;
  QStackedWidget* options_ = nullptr;  ///< of the mode: its room stays when there are none
  QWidget* no_options_ = nullptr;
  HeatOptions* heat_ = nullptr;
  QToolButton* logarithmic_ = nullptr;
  QLineEdit* reshape_ = nullptr;
  bool narrow_ = false;
  QAction* pin_ = nullptr;
  QToolButton* open_list_ = nullptr;
  PinsList* list_ = nullptr;
};

}  // namespace tapedeck::inspector
