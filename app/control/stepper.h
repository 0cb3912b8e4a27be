// The deck's keys: what stepping, pausing and continuing mean in each state of the session.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <functional>
#include <optional>

#include "app/control/cell_runner.h"
#include "inspector/model/session/session.h"

namespace tapedeck::app {

/// Keys also depend on whether the user looks back (Stepper::lookingBack).
enum class StepperState {
  noSession,      ///< no process: none was started, or it ended
  connecting,     ///< the process starts, or its debug server does not answer (yet, or for now)
  withoutEngine,  ///< cells run, but nothing can be stepped
  idle,           ///< no cell runs; the gate is open
  arming,         ///< the gate was asked to shut; the cell is sent when it confirms
  running,
  stopped  ///< at the gate
};

class Stepper : public QObject {
  Q_OBJECT
 public:
  Stepper(inspector::Session* session, CellRunner* runner, Kernel* kernel, QObject* parent = nullptr);

  /// The user's place in the notebook: starting a cell starts the first one with code from there on.
  void setCurrentCell(std::function<int()> index) { currentCell_ = std::move(index); }

  /// A user who keeps pressing the key at the end of a cell has not noticed the end yet: only after a pause
  /// does the key start the cell again.
  void setFinishedPause(int milliseconds) { finishedPause_ = milliseconds; }

  StepperState state() const { return state_; }
  bool lookingBack() const;

 public slots:
  /// Looking back: forward by one record, or to the next line. At the gate: one op or VJP, or one line.
  /// Running: pause. Idle: starts the current cell, with the gate shut before its first op; without a session
  /// that begins first.
  void stepOp();
  void stepLine();
  void stepOut();
  void stepBack();
  void pause();
  void resume();  ///< Idle: starts the current cell, with the gate open.

 signals:
  void stateChanged(tapedeck::app::StepperState state);
  /// A key acts on this cell, which is not the current one.
  void cellChosen(const QString& cellId);
  /// Why the key did nothing, or did not stop the cell that it started, as a sentence.
  void refused(const QString& sentence);

 private:
  /// A request from before the session was there, or one that waits for the gate's answer.
  struct Wish {
    QString cell;  ///< to be started; empty: what the runner has already
    protocol::GateCommand command;
  };

  StepperState observed() const;
  void enter(StepperState state);
  void update();
  void step(protocol::GateCommand command);
  void arm(const QString& cell, protocol::GateCommand command);
  void runWished();
  void cellChanged(const QString& cell, CellState state);
  void forwardToNextLine();
  QString chooseCell();
  void runChosen();
  QString finishedName(const QString& cell) const;
  bool saysFinished(const QString& cell);
  bool recordingIsOn();
  /// Where no cells can be run here, and nothing else that could be stepped: says so.
  bool refuseCells();

  inspector::Session* session_;
  CellRunner* runner_;
  Kernel* kernel_;
  std::function<int()> currentCell_ = [] { return 0; };
  StepperState state_ = StepperState::noSession;
  std::optional<Wish> wish_;
  bool stepping_ = false;  ///< the running cell was last asked to step
  QString finished_;       ///< a cell that was stepped to its end: the key that did so does not run it again
  QElapsedTimer sinceFinished_;  ///< since the key was refused for it
  int finishedPause_ = 700;      ///< milliseconds
  QString startedCell_;          ///< started with the gate shut, which it has not reached yet
};

}  // namespace tapedeck::app
