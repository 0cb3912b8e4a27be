#include "app/notebook/view/cell_toolbar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QToolButton>
#include <algorithm>

#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/notebook_keys.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/icons.h"

namespace tapedeck::app {
namespace {

constexpr int icon_side = 16, button_width = 26;

struct Look {
  const char* icon;
  QString name;
  NotebookCommand command;  ///< what the tooltip names the key of
};

Look lookOf(CellAction action, CellType type) {
  using C = NotebookCommand;
  switch (action) {
    case CellAction::run:
      return {"run", type == CellType::markdown ? "Show this cell as text" : "Run this cell", C::run};
    case CellAction::moveUp:
      return {"up", "Move this cell up", C::moveUp};
    case CellAction::moveDown:
      return {"down", "Move this cell down", C::moveDown};
    case CellAction::insertBelow:
      return {"add", "Insert a cell below", C::insertBelow};
    case CellAction::changeType:
      return type == CellType::code ? Look{"markdown", "Make this a Markdown cell", C::toMarkdown}
                                    : Look{"code", "Make this a code cell", C::toCode};
    case CellAction::remove:
      return {"delete", "Delete this cell", C::remove};
  }
  return {"run", "", C::run};
}

constexpr CellAction all_actions[] = {CellAction::run,         CellAction::moveUp,     CellAction::moveDown,
                                      CellAction::insertBelow, CellAction::changeType, CellAction::remove};

}  // namespace

CellToolbar::CellToolbar(const NotebookTheme& theme, QWidget* parent) : QFrame(parent) {
  setObjectName("cellToolbar");
  setAccessibleName("Cell toolbar");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(1, 1, 1, 1);
  layout->setSpacing(0);
  for (const CellAction action : all_actions) {
    QToolButton* button = addButton(action);
    buttons_ += button;
    layout->addWidget(button);
  }
  setTheme(theme);
}

QToolButton* CellToolbar::addButton(CellAction action) {
  auto* button = new QToolButton(this);
  button->setAutoRaise(true);
  // A click leaves the focus with the cell; keys come here by enter().
  button->setFocusPolicy(Qt::NoFocus);
  button->installEventFilter(this);
  connect(button, &QToolButton::clicked, this, [this, action] { emit triggered(id_, action); });
  return button;
}

QToolButton* CellToolbar::button(CellAction action) const {
  return buttons_[static_cast<int>(action)];
}

void CellToolbar::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  for (QToolButton* button : buttons_) {  // the scale comes with the theme, as the letters do
    button->setIconSize(QSize(1, 1) * inspector::scaled(qRound(icon_side * theme.icons)));
    button->setFixedSize(inspector::scaled(qRound(button_width * theme.icons)),
                         cell_metrics::tools(theme) - 2);
  }
  setStyleSheet(
      QString("#cellToolbar { background: %1; border: 1px solid %2; border-radius: 4px; }"
              "#cellToolbar QToolButton { border: 1px solid transparent; border-radius: 3px; }"
              "#cellToolbar QToolButton:hover { background: %3; }"
              "#cellToolbar QToolButton:focus { background: %3; border-color: %4; }")
          .arg(theme.background.name(), theme.border.name(), theme.hover.name(), theme.accent.name()));
  refresh();
}

void CellToolbar::setCell(const QString& id, CellType type, bool first, bool last) {
  id_ = id;
  type_ = type;
  button(CellAction::run)->setEnabled(type != CellType::raw);
  button(CellAction::moveUp)->setEnabled(!first);
  button(CellAction::moveDown)->setEnabled(!last);
  refresh();
}

void CellToolbar::refresh() {
  for (const CellAction action : all_actions) {
    const Look look = lookOf(action, type_);
    button(action)->setIcon(inspector::icon(look.icon));
    button(action)->setToolTip(inspector::plainTip(QString("%1 (%2)").arg(look.name, keyText(look.command))));
    button(action)->setAccessibleName(look.name);
  }
  adjustSize();
}

void CellToolbar::enter() {
  focusNext(buttons_.last(), 1);
}

bool CellToolbar::entered() const {
  return std::any_of(buttons_.begin(), buttons_.end(),
                     [](const QToolButton* button) { return button->hasFocus(); });
}

void CellToolbar::focusNext(QToolButton* from, int direction) {
  const qsizetype count = buttons_.size();
  qsizetype at = buttons_.indexOf(from);
  for (qsizetype i = 0; i < count; ++i) {
    at = (at + count + direction) % count;
    if (buttons_[at]->isEnabled()) return buttons_[at]->setFocus();
  }
}

bool CellToolbar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(watched, event);
  auto* button = static_cast<QToolButton*>(watched);
  const auto* key = static_cast<QKeyEvent*>(event);
  if ((key->modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) return false;
  switch (key->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
      focusNext(button, key->key() == Qt::Key_Left ? -1 : 1);
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      button->click();
      return true;
    default:
      event->ignore();  // a button would move the focus by itself
      return true;
  }
}

void CellToolbar::leaveEvent(QEvent* event) {
  QFrame::leaveEvent(event);
  emit left();
}

}  // namespace tapedeck::app
