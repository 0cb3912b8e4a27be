// The panel of the VJP: which one it is, and the sheet with its formula and values.
#pragma once

#include <memory>

#include "inspector/panels/panel.h"

class QAction;
class QLineEdit;
class QPushButton;
class QScrollArea;

namespace tapedeck::inspector {

class VjpModel;
class VjpSheet;

class VjpView : public Panel {
  Q_OBJECT
 public:
  VjpView(Session& session, const CellNames& cells, QWidget* parent = nullptr);
  ~VjpView() override;

  bool isEmpty() const override;
  QList<HandledKeys> handledKeys() const override;

  VjpModel* model() const { return model_; }
  VjpSheet* sheet() const { return sheet_; }
  QPushButton* header() const { return header_; }
  QLineEdit* elementBox() const { return element_; }

  QSize minimumSizeHint() const override { return {240, 120}; }
  QSize sizeHint() const override { return {340, 420}; }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void makeHeader();
  void makeActions();
  void refresh();
  void showHeader();
  void goToForward();
  void goToVjp();
  void explainTyped();
  void showExplained();
  void showRevealed();
  QString headerText() const;
  QString placeText() const;

  Session& session_;
  const CellNames& cells_;
  VjpModel* model_;
  VjpSheet* sheet_;
  QScrollArea* scroll_;
  QPushButton* header_;
  QLineEdit* element_;
  QAction* reveal_ = nullptr;
  /// VJPs at the gate: whose results are hidden, and whose were revealed last; 0: none.
  quint64 hiding_ = 0, revealed_ = 0;
  QRectF shownResults_;  ///< where they were when they were scrolled to
};

}  // namespace tapedeck::inspector
