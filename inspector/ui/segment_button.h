// One of a row of buttons of which one is pressed: a choice of views.
#pragma once

#include <QToolButton>

namespace tapedeck::inspector {

/// Painted from the palette of the moment, so that it follows a theme that is switched live (colours of a
/// style sheet do not).
class SegmentButton : public QToolButton {
  Q_OBJECT
 public:
  using QToolButton::QToolButton;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace tapedeck::inspector
