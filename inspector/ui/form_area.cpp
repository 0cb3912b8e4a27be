#include "inspector/ui/form_area.h"

#include <QCoreApplication>
#include <QFocusEvent>
#include <QLayout>
#include <QPointer>
#include <QResizeEvent>
#include <QScrollBar>
#include <algorithm>

namespace tapedeck::inspector {

FormArea::FormArea(QWidget* form, QWidget* parent) : QScrollArea(parent) {
  setWidget(form);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  setFocusPolicy(Qt::NoFocus);
  viewport()->setAutoFillBackground(false);
  form->setAutoFillBackground(false);
  for (QWidget* const field : form->findChildren<QWidget*>()) field->installEventFilter(this);
}

QSize FormArea::sizeHint() const {
  const QWidget* const form = widget();
  if (!form || form->isHidden()) return QSize(0, 0);
  const QSize wanted = form->sizeHint();
  return QSize(wanted.width(), form->hasHeightForWidth()
                                   ? form->heightForWidth(std::max(1, viewport()->width()))
                                   : wanted.height());
}

QSize FormArea::minimumSizeHint() const {
  constexpr int frame = 10;  // of a field, around its letters
  return QSize(0, std::min(sizeHint().height(), 2 * fontMetrics().height() + frame));
}

void FormArea::reveal(QWidget* field) {
  QMetaObject::invokeMethod(
      this,
      [this, field = QPointer<QWidget>(field)] {
        if (!field) return;
        // Twice: a scroll bar that appears makes the form narrower, and so higher.
        for (int pass = 0; pass < 2; ++pass) {
          if (QLayout* const outer = parentWidget() ? parentWidget()->layout() : nullptr) outer->activate();
          QCoreApplication::sendPostedEvents(widget(), QEvent::LayoutRequest);
          if (QLayout* const inner = widget()->layout()) inner->activate();
        }
        scrollTo(field);
      },
      Qt::QueuedConnection);
}

// ensureWidgetVisible() is content when the text cursor of a field is visible, and its frame is cut off.
void FormArea::scrollTo(const QWidget* field) {
  if (!widget()->isAncestorOf(field) || !field->isVisible()) return;
  const int top = field->mapTo(widget(), QPoint()).y(), room = viewport()->height();
  const int gap = std::clamp((room - field->height()) / 2, 0, fontMetrics().height() / 4);
  QScrollBar* const bar = verticalScrollBar();
  const int lowest = std::max(0, top - gap);  // of a field higher than the room, its beginning
  bar->setValue(std::clamp(bar->value(), std::min(lowest, top + field->height() + gap - room), lowest));
}

bool FormArea::eventFilter(QObject* object, QEvent* event) {
  const bool taken = QScrollArea::eventFilter(object, event);
  const bool other = event->type() == QEvent::LayoutRequest || event->type() == QEvent::ShowToParent ||
                     event->type() == QEvent::HideToParent;
  if (object == widget() && other) updateGeometry();
  // The mouse is at what the user sees: it stays where it is.
  if (event->type() == QEvent::FocusIn && object != widget() &&
      static_cast<QFocusEvent*>(event)->reason() != Qt::MouseFocusReason)
    reveal(qobject_cast<QWidget*>(object));
  return taken;
}

void FormArea::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) updateGeometry();
}

}  // namespace tapedeck::inspector
