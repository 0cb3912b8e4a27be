#include "inspector/ui/text_button.h"

#include <QAction>
#include <QLayout>
#include <QToolButton>

namespace tapedeck::inspector {

QToolButton* addTextButton(QLayout* bar, QAction* action, const QString& text, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setDefaultAction(action);
  button->setText(text);
  button->setToolButtonStyle(Qt::ToolButtonTextOnly);
  button->setFocusPolicy(Qt::TabFocus);
  bar->addWidget(button);
  // A default action sets the button's text whenever it changes.
  QObject::connect(action, &QAction::changed, button, [button, text] { button->setText(text); });
  return button;
}

}  // namespace tapedeck::inspector
