// The list of all keys, to be searched; it stays open beside the work.
#pragma once

#include <QDialog>

#include "app/shell/window/key_list.h"

class QLineEdit;
class QTreeWidget;

namespace tapedeck::app {

class KeysWindow : public QDialog {
  Q_OBJECT
 public:
  KeysWindow(const QList<KeyGroup>& groups, QWidget* parent);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void search(const QString& text);

  QLineEdit* field_;
  QTreeWidget* list_;
};

}  // namespace tapedeck::app
