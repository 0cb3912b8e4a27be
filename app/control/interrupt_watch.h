// Notices when a program goes on after it was interrupted.
#pragma once

#include <QObject>
#include <QTimer>

#include "app/control/cell_runner.h"

namespace tapedeck::app {

class InterruptWatch : public QObject {
  Q_OBJECT
 public:
  static constexpr int default_patience = 5'000;  // milliseconds

  InterruptWatch(CellRunner* runner, Kernel* kernel, QObject* parent = nullptr);
  void setPatience(int milliseconds) { timer_.setInterval(milliseconds); }
  /// Interrupts; the watch begins.
  void interrupt();
  /// Gives the program that time once more.
  void wait();

 signals:
  /// The cell that was to end runs on. Empty: it is one of another program.
  void ignored(const QString& cellId);
  /// It has ended, or its session has.
  void over();

 private:
  void end();

  CellRunner* runner_;
  Kernel* kernel_;
  QTimer timer_;
  QString cell_;
  bool told_ = false;
};

}  // namespace tapedeck::app
