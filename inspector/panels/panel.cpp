#include "inspector/panels/panel.h"

#include <QAction>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

QList<QAction*> Panel::menuActions() const {
  QList<QAction*> list;
  for (QAction* action : actions())
    if (!action->text().isEmpty()) list << action;
  return list;
}

SessionPanel::SessionPanel(Session& session, QWidget* parent) : Panel(parent), session_(session) {
  for (const auto signal : {&Session::statusChanged, &Session::cleared})
    connect(&session, signal, this, &SessionPanel::look);
  connect(&session, &Session::cursorChanged, this, &SessionPanel::look);
  look();
}

void SessionPanel::look() {
  const bool empty = session_.recordCount() == 0 && !session_.stop();
  if (std::exchange(empty_, empty) != empty) emit emptyChanged();
}

}  // namespace tapedeck::inspector
