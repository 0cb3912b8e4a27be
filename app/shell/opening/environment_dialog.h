// Chooses the Python environment of a session: says what it has and what is missing, and installs Tapedeck's
// module.
#pragma once

#include <QDialog>
#include <QTimer>

#include "app/kernel/process/module_install.h"
#include "app/kernel/process/python_environment.h"

class QLabel;
class QLineEdit;
class QListWidget;
class QProgressBar;
class QPushButton;
class QVBoxLayout;

namespace tapedeck::app {

/// Asks the interpreter in a process of its own whenever another one is named; the window goes on meanwhile.
class EnvironmentDialog : public QDialog {
  Q_OBJECT
 public:
  /// `chosen`: the environment that is in use; empty: the app's own.
  EnvironmentDialog(const QString& chosen, QWidget* parent);

  /// The folder or interpreter in the field; empty: the app's own Python.
  QString given() const;

 private:
  void buildChoice(QVBoxLayout* rows);
  void buildInstall(QVBoxLayout* rows);
  void browse(bool folder);
  void ask();
  void show(const EnvironmentFacts& facts);
  void showProblem(const QString& sentence, const QString& state);
  void addNeed(const EnvironmentNeed& need);
  void clearNeeds();
  void install();
  void installed(bool done, const QString& sentence);
  void setInstalling(bool on);

  QListWidget* known_ = nullptr;
  QLineEdit* field_ = nullptr;
  QLabel* verdict_ = nullptr;
  QWidget* needs_ = nullptr;
  QPushButton* install_ = nullptr;  ///< in the row of the module; nullptr: it needs none
  QWidget* installing_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* step_ = nullptr;
  QLabel* trouble_ = nullptr;
  QPushButton* use_ = nullptr;
  QTimer typing_;
  EnvironmentProbe probe_;
  ModuleInstall module_;
};

}  // namespace tapedeck::app
