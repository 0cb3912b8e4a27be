// Notices when a program keeps running after an interrupt.
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
  /// The interrupted cell is still running. Empty: it is a cell of another program.
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
