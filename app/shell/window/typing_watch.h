// Whether the user is typing just now: nothing may move under the text cursor then.
#pragma once

#include <QObject>
#include <QTimer>

namespace tapedeck::app {

/// One for a window. Typing is keyboard input to its text fields; it ends after a pause, or with a key that
/// asks for something else: run, step, another panel.
class TypingWatch : public QObject {
  Q_OBJECT
 public:
  explicit TypingWatch(QWidget* window);
  bool typing() const { return pause_.isActive(); }

 signals:
  void ended();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  QWidget* window_;
  QTimer pause_;
};

}  // namespace tapedeck::app
