// The deck's keys: what stepping, pausing and continuing mean in each state of the session.
#pragma once

#include <QObject>

#include "app/control/cell_runner.h"
#include "inspector/model/session.h"

namespace tapedeck::app {

class Stepper : public QObject {
  Q_OBJECT
 public:
  Stepper(inspector::Session* session, CellRunner* runner, KernelSession* kernel, QObject* parent = nullptr);

  bool stopped() const;  ///< at the gate

 public slots:
  /// Looking back: forward by one record. At the gate: one op or VJP. Running: pause. Idle: asks for the
  /// current cell to be run, with the gate shut before its first op.
  void stepOp();
  void stepLine();
  void stepOut();
  void stepBack();
  void pause();
  void resume();  ///< Idle: asks for the current cell to be run, with the gate open.

 signals:
  /// The gate is ready for it: run the cell that is current.
  void runCurrentRequested();
  /// A sentence why the key did nothing.
  void refused(const QString& sentence);

 private:
  void arm(protocol::GateCommand command);
  void checkArmed();
  bool lookingBack() const;

  inspector::Session* session_;
  CellRunner* runner_;
  KernelSession* kernel_;
  bool arming_ = false;  ///< the gate was asked to shut before a cell is sent
  bool wanted_ = false;  ///< a step was asked for before the session was connected
  protocol::GateCommand command_ = protocol::GateCommand::step_op;
};

}  // namespace tapedeck::app
