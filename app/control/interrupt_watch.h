// What goes on between an interrupt and the end of what it was for.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include "app/control/cell_runner.h"

namespace tapedeck::app {

class InterruptWatch : public QObject {
  Q_OBJECT
 public:
  static constexpr int default_patience = 5'000;  // milliseconds
  static constexpr int soon = 200;                // milliseconds

  InterruptWatch(CellRunner* runner, Kernel* kernel, QObject* parent = nullptr);
  void setPatience(int milliseconds) { timer_.setInterval(milliseconds); }
  /// Interrupts; the watch begins.
  void interrupt();
  /// Gives the program that time once more.
  void wait();
  /// Seconds since the interrupt that waits for the cell to end; −1: none does.
  int seconds() const;

 signals:
  /// seconds() gives another number.
  void changed();
  /// The cell has not ended soon.
  void waits(const QString& cellId);
  /// The interrupted cell is still running. Empty: it is a cell of another program.
  void ignored(const QString& cellId);
  /// It has ended, or its session has.
  void over();

 private:
  void end();

  CellRunner* runner_;
  Kernel* kernel_;
  QTimer timer_, soon_, second_;
  QElapsedTimer since_;  ///< valid while an interrupt waits
  QString cell_;
  bool told_ = false;
};

}  // namespace tapedeck::app
