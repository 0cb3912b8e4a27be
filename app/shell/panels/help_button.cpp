#include "app/shell/panels/help_button.h"

#include <QDockWidget>
#include <QEvent>

#include "inspector/model/plain_tip.h"

namespace tapedeck::app {

HelpButton::HelpButton(QDockWidget* dock) : QToolButton(dock), dock_(dock) {
  setObjectName("panelHelp");
  setText("?");
  setAutoRaise(true);
  setFocusPolicy(Qt::NoFocus);  // F1 in the panel does the same
  setToolTip(
      inspector::plainTip(QString("Show the guide's page on %1 (F1 in the panel)").arg(dock->windowTitle())));
  setAccessibleName(QString("Guide to %1").arg(dock->windowTitle()));
  dock->installEventFilter(this);
  if (auto* neighbour = dock->findChild<QAbstractButton*>("qt_dockwidget_floatbutton"))
    neighbour->installEventFilter(this);
  place();
}

QSize HelpButton::sizeHint() const {
  return {fontMetrics().horizontalAdvance('?') + 4, fontMetrics().height()};
}

bool HelpButton::eventFilter(QObject* object, QEvent* event) {
  switch (event->type()) {
    case QEvent::Resize:
    case QEvent::Move:
    case QEvent::Show:
    case QEvent::LayoutRequest:
    case QEvent::FontChange:
      place();
      break;
    default:
      break;
  }
  return QToolButton::eventFilter(object, event);
}

void HelpButton::place() {
  // Qt moves its own with the title; where it shows none there is no title.
  const auto* neighbour = dock_->findChild<QAbstractButton*>("qt_dockwidget_floatbutton");
  setVisible(neighbour && !neighbour->isHidden());
  if (!neighbour) return;
  const QRect there = neighbour->geometry();
  const QSize size = sizeHint().expandedTo(there.size());
  setGeometry(there.left() - size.width() - 1, there.center().y() - size.height() / 2, size.width(),
              size.height());
  raise();
}

}  // namespace tapedeck::app
