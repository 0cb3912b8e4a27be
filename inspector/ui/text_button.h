// A button of a panel's bar that shows a text of its own for an action.
#pragma once

#include <QString>

class QAction;
class QLayout;
class QToolButton;
class QWidget;

namespace tapedeck::inspector {

/// What a shared action is called in the menu is not what a button has room for: the button keeps `text`.
QToolButton* addTextButton(QLayout* bar, QAction* action, const QString& text, QWidget* parent);

}  // namespace tapedeck::inspector
