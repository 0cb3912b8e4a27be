// A button of a panel's bar that shows a text of its own for an action.
#pragma once

#include <QString>

class QAction;
class QLayout;
class QToolButton;
class QWidget;

namespace tapedeck::inspector {

/// The menu's text of a shared action may be too long for a button: the button keeps `text`.
QToolButton* addTextButton(QLayout* bar, QAction* action, const QString& text, QWidget* parent);

}  // namespace tapedeck::inspector
