// The question before a running cell is ended.
#pragma once

#include <QString>

class QWidget;

namespace tapedeck::app {

class CellRunner;
class Kernel;

enum class ClosingAnswer {
  stay,
  keepRunning,  ///< without a window
  save,         ///< end the session, save, and close
  end           ///< end the session, and close without saving
};

struct ClosingFacts {
  QString name;     ///< of the notebook
  QString running;  ///< of runningSentence()
  bool modified = false;
  bool quitting = false;  ///< nothing can go on then
};

/// "cell [3] is running, and 2 cells wait behind it"; empty: nothing runs.
QString runningSentence(const CellRunner& runner, const Kernel& kernel);
ClosingAnswer askClosing(QWidget* window, const ClosingFacts& facts);
/// `running`: of runningSentence(). True where nothing runs, or it may be ended.
bool askRestart(QWidget* window, const QString& running);

}  // namespace tapedeck::app
