// Chooses the running program to attach to.
#pragma once

#include <QDialog>
#include <QTimer>
#include <optional>

#include "app/kernel/debug/program_list.h"

class QDialogButtonBox;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTreeWidget;

namespace tapedeck::app {

/// The list is refreshed every second; the selection stays.
class AttachDialog : public QDialog {
  Q_OBJECT
 public:
  explicit AttachDialog(QWidget* parent = nullptr);
  std::optional<Program> chosen() const;
  QTreeWidget* list() const { return list_; }

 private:
  void refresh();
  void enableAttach();

  QList<Program> programs_;
  QStackedWidget* pages_;
  QTreeWidget* list_;
  QLabel* none_;
  QDialogButtonBox* buttons_;
  QPushButton* attach_;
  QTimer again_;
};

}  // namespace tapedeck::app
