// The "?" in a panel's title, beside the buttons that Qt puts there.
#pragma once

#include <QToolButton>

class QDockWidget;

namespace tapedeck::app {

class HelpButton : public QToolButton {
 public:
  explicit HelpButton(QDockWidget* dock);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void place();

  QDockWidget* dock_;
};

}  // namespace tapedeck::app
