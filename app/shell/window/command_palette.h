// All actions of a window in one list, to be searched and run by a few letters.
#pragma once

#include <QFrame>
#include <QPointer>
#include <functional>

class QAction;
class QLineEdit;
class QListWidget;
class QMainWindow;

namespace tapedeck::app {

class CommandPalette : public QFrame {
  Q_OBJECT
 public:
  /// `why`: of a disabled action that does not say so itself, why it is.
  CommandPalette(QMainWindow* window, std::function<QString(const QAction*)> why);

  void open();
  /// The keyboard goes back to where it was.
  void close();
  struct Command {
    QPointer<QAction> action;
    QString text;    ///< "Insert cell above"
    QString path;    ///< "Cell", "View › Tensor"
    QString key;     ///< "Ctrl+Alt+A"
    QString reason;  ///< why it is disabled; empty: it is not
    QString name;    ///< what it is remembered by
  };
  /// Of the menus, in their order.
  QList<Command> commands() const;

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  void addMenu(const QList<QAction*>& actions, const QString& path, QList<Command>* list) const;
  QString reasonOf(const QAction* action) const;
  void fill();
  void place();
  void run();
  bool fieldKey(int key, Qt::KeyboardModifiers modifiers);

  QMainWindow* window_;
  std::function<QString(const QAction*)> why_;
  QLineEdit* field_;
  QListWidget* list_;
  QList<Command> commands_;  ///< while it is open
  QPointer<QWidget> focus_;  ///< that had the keyboard
};

}  // namespace tapedeck::app
