// One of a row of buttons of which one is pressed: a choice of views.
#pragma once

#include <QList>
#include <QStringList>
#include <QToolButton>

class QAction;
class QButtonGroup;

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

/// A row of them without gaps; their places are their ids in `group`, and the first one is pressed.
QWidget* segmentRow(QButtonGroup* group, const QStringList& texts, const QStringList& tips, QWidget* parent);
/// The same for actions, each represented by a button.
QWidget* segmentRow(const QList<QAction*>& actions, QWidget* parent);

}  // namespace tapedeck::inspector
