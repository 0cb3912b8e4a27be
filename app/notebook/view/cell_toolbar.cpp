#include "app/notebook/view/cell_toolbar.h"

#include <QHBoxLayout>
#include <QToolButton>

#include "app/notebook/output/icons.h"

namespace tapedeck::app {
namespace {

struct Look {
  Icon icon;
  const char* name;
  const char* tip;
};

Look lookOf(CellAction action, CellType type) {
  switch (action) {
    case CellAction::run:
      return type == CellType::markdown
                 ? Look{Icon::run, "Show this cell as text", "Show this cell as text (Ctrl+Enter)"}
                 : Look{Icon::run, "Run this cell", "Run this cell (Ctrl+Enter)"};
    case CellAction::moveUp:
      return {Icon::up, "Move this cell up", "Move this cell up (Ctrl+Shift+Up)"};
    case CellAction::moveDown:
      return {Icon::down, "Move this cell down", "Move this cell down (Ctrl+Shift+Down)"};
    case CellAction::insertBelow:
      return {Icon::add, "Insert a cell below", "Insert a cell below (B)"};
    case CellAction::changeType:
      return type == CellType::code
                 ? Look{Icon::markdown, "Make this a Markdown cell", "Make this a Markdown cell (M)"}
                 : Look{Icon::code, "Make this a code cell", "Make this a code cell (Y)"};
    case CellAction::remove:
      return {Icon::remove, "Delete this cell", "Delete this cell (D, D); Z brings it back"};
  }
  return {Icon::run, "", ""};
}

constexpr CellAction all_actions[] = {CellAction::run,         CellAction::moveUp,     CellAction::moveDown,
                                      CellAction::insertBelow, CellAction::changeType, CellAction::remove};

}  // namespace

CellToolbar::CellToolbar(const NotebookTheme& theme, QWidget* parent) : QFrame(parent) {
  setObjectName("cellToolbar");
  setAccessibleName("Tools of the cell");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(2, 1, 2, 1);
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
  button->setIconSize(QSize(16, 16));
  // Every tool has a key of its own; the focus stays with the cell.
  button->setFocusPolicy(Qt::NoFocus);
  connect(button, &QToolButton::clicked, this, [this, action] { emit triggered(id_, action); });
  return button;
}

QToolButton* CellToolbar::button(CellAction action) const {
  return buttons_[static_cast<int>(action)];
}

void CellToolbar::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  setStyleSheet(QString("#cellToolbar { background: %1; border: 1px solid %2; border-radius: 4px; }"
                        "#cellToolbar QToolButton { border: none; padding: 3px; border-radius: 3px; }"
                        "#cellToolbar QToolButton:hover { background: %3; }")
                    .arg(theme.page.name(), theme.border.name(), theme.hover.name()));
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
    button(action)->setIcon(makeIcon(look.icon, theme_.text));
    button(action)->setToolTip(look.tip);
    button(action)->setAccessibleName(look.name);
  }
  adjustSize();
}

void CellToolbar::leaveEvent(QEvent* event) {
  QFrame::leaveEvent(event);
  emit left();
}

}  // namespace tapedeck::app
