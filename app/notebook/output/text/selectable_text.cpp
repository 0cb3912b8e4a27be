#include "app/notebook/output/text/selectable_text.h"

#include <QAccessibleWidget>
#include <QContextMenuEvent>
#include <QMenu>
#include <QScrollBar>
#include <optional>

#include "app/notebook/output/wheel.h"

namespace tapedeck::app {
namespace {

class AccessibleText : public QAccessibleWidget {
 public:
  explicit AccessibleText(QWidget* widget) : QAccessibleWidget(widget, QAccessible::StaticText) {}
  QString text(QAccessible::Text kind) const override {
    if (kind != QAccessible::Value) return QAccessibleWidget::text(kind);
    return static_cast<SelectableText*>(widget())->textForReaders();
  }
};

QAccessibleInterface* makeAccessibleText(const QString& class_name, QObject* object) {
  if (class_name != "tapedeck::app::SelectableText") return nullptr;
  return new AccessibleText(static_cast<QWidget*>(object));
}

std::optional<CaretMove> caretMove(const QKeyEvent& event) {
  static constexpr std::pair<QKeySequence::StandardKey, CaretMove> moves[] = {
      {QKeySequence::SelectPreviousChar, CaretMove::left},
      {QKeySequence::SelectNextChar, CaretMove::right},
      {QKeySequence::SelectPreviousWord, CaretMove::wordLeft},
      {QKeySequence::SelectNextWord, CaretMove::wordRight},
      {QKeySequence::SelectPreviousLine, CaretMove::up},
      {QKeySequence::SelectNextLine, CaretMove::down},
      {QKeySequence::SelectPreviousPage, CaretMove::pageUp},
      {QKeySequence::SelectNextPage, CaretMove::pageDown},
      {QKeySequence::SelectStartOfLine, CaretMove::lineStart},
      {QKeySequence::SelectEndOfLine, CaretMove::lineEnd},
      {QKeySequence::SelectStartOfDocument, CaretMove::start},
      {QKeySequence::SelectEndOfDocument, CaretMove::end}};
  for (const auto& [key, move] : moves)
    if (event.matches(key)) return move;
  return {};
}

}  // namespace

SelectableText::SelectableText(QWidget* parent) : QAbstractScrollArea(parent) {
  static const bool installed = [] {
    QAccessible::installFactory(makeAccessibleText);
    return true;
  }();
  Q_UNUSED(installed);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::ClickFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  passWheelOn(this);
  viewport()->setAutoFillBackground(false);
  viewport()->setCursor(Qt::IBeamCursor);
}

// ---- keys ----

bool SelectableText::selectionKey(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy) && hasSelection()) {
    copy();
    return true;
  }
  if (event->matches(QKeySequence::SelectAll)) {
    selectAll();
    return true;
  }
  const std::optional<CaretMove> move = caretMove(*event);
  if (!move || !hasCaret()) return false;
  moveCursor(*move);
  viewport()->update();
  bringCursorIntoSight();
  return true;
}

/// What scrolls the notebook, or a part of it, follows.
void SelectableText::bringCursorIntoSight() {
  const QRect cursor = cursorRect();
  if (cursor.isEmpty()) return;
  for (QWidget* above = parentWidget(); above != nullptr; above = above->parentWidget()) {
    const auto* area = qobject_cast<QAbstractScrollArea*>(above);
    if (area == nullptr) continue;
    QScrollBar* bar = area->verticalScrollBar();
    const int top = mapTo(above, cursor.topLeft()).y() - area->viewport()->y();
    const int below = top + cursor.height() - area->viewport()->height();
    if (top < 0)
      bar->setValue(bar->value() + top);
    else if (below > 0)
      bar->setValue(bar->value() + below);
    return;
  }
}

bool SelectableText::event(QEvent* event) {
  // Elsewhere these keys may be shortcuts.
  if (event->type() == QEvent::ShortcutOverride && hasCaret() &&
      caretMove(*static_cast<QKeyEvent*>(event)).has_value())
    event->accept();
  return QAbstractScrollArea::event(event);
}

void SelectableText::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void SelectableText::focusOutEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusOutEvent(event);
  viewport()->update();
}

void SelectableText::scrollContentsBy(int, int) {
  viewport()->update();
}

// ---- mouse ----

void SelectableText::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  selecting_ = true;
  pressed(event->pos());
  placeCursor(event->pos(), event->modifiers().testFlag(Qt::ShiftModifier));
  viewport()->update();
}

void SelectableText::mouseMoveEvent(QMouseEvent* event) {
  if (!selecting_) return hovered(event->pos());
  dragged(event->pos());
  placeCursor(event->pos(), true);
  viewport()->update();
}

void SelectableText::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  selecting_ = false;
  released(event->pos());
}

void SelectableText::mouseDoubleClickEvent(QMouseEvent* event) {
  doubleClickedAt(event->pos());
  viewport()->update();
}

void SelectableText::contextMenuEvent(QContextMenuEvent* event) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction("&Copy", this, &SelectableText::copy)->setEnabled(hasSelection());
  menu->addAction("Select &all", this, &SelectableText::selectAll);
  addToMenu(menu, event->pos());
  menu->popup(event->globalPos());
}

}  // namespace tapedeck::app
