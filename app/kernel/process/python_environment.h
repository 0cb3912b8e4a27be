// A Python environment that the user chose for a session: a venv, a conda environment, a version of pyenv, or
// an interpreter itself; and what it can run.
#pragma once

#include <QList>
#include <QMap>
#include <QObject>
#include <QProcess>
#include <QString>
#include <optional>

namespace tapedeck::app {

/// Python 3.10 and torch 2.1: older ones are named, not used.
inline constexpr int least_python[] = {3, 10};
inline constexpr int least_torch[] = {2, 1};

/// What an interpreter says of itself (tapedeck/_session/environment.py).
struct EnvironmentFacts {
  QString given;        ///< the folder or file that was asked about
  QString interpreter;  ///< absolute, its links not followed: a venv's interpreter is one
  QString python;       ///< "3.12.1"
  /// By name: torch, ipykernel, numpy, tapedeck, pip. Not there: it is not installed. Empty: no version is
  /// known.
  QMap<QString, QString> packages;
  QString module;        ///< the folder of the installed package `tapedeck`; empty: none
  QString fingerprint;   ///< of the sources that it was built from
  bool managed = false;  ///< by the distribution: pip installs nothing there

  bool pythonIsNewEnough() const;
  bool torchIsNewEnough() const;
  /// Installed, and built from the sources of this build's own module.
  bool moduleMatches() const;
  /// Cells can run: Python is new enough and ipykernel is there.
  bool usable() const;
  /// "Python 3.12.1, torch 2.15.0"
  QString summary() const;
};

/// One thing that a session needs or that a PyTorch program does.
struct EnvironmentNeed {
  enum class State { present, missing, outdated };
  QString name;  ///< "torch"
  State state = State::present;
  QString sentence;  ///< "torch 2.15.0"; "torch is missing: …"
  QString command;   ///< what installs it, for a terminal; empty: nothing to install
};
/// In the order in which they are shown: python, ipykernel, numpy, torch, tapedeck.
QList<EnvironmentNeed> needsOf(const EnvironmentFacts& facts);

/// The interpreter of a folder, or the file itself; empty, and a sentence in `problem`: there is none.
QString interpreterOf(const QString& given, QString* problem);
/// What people call it: "env-torch"; of a folder called venv or .venv, "project/.venv".
QString environmentName(const QString& given);
/// The interpreter that the program was built with; its sessions run there unless the user chose another one.
QString ownPython();
/// The command that installs the module into it; empty: this program was installed without its sources.
QString installCommand(const QString& given);
/// The script that does so; empty as above.
QString installScript();

/// Asks an interpreter in a process of its own. One question at a time; a new one drops the old.
class EnvironmentProbe : public QObject {
  Q_OBJECT
 public:
  explicit EnvironmentProbe(QObject* parent = nullptr);
  ~EnvironmentProbe() override;

  void ask(const QString& given);
  void cancel();
  bool asking() const { return process_ != nullptr; }
  void setLimit(int milliseconds) { limit_ = milliseconds; }

 signals:
  void answered(const tapedeck::app::EnvironmentFacts& facts);
  /// There is no such environment, or its interpreter does not answer: a sentence that names it.
  void failed(const QString& sentence);

 private:
  void finished(const QString& given, const QString& interpreter);
  void fail(const QString& sentence);

  QProcess* process_ = nullptr;
  int limit_ = 30000;
  bool late_ = false;
};

}  // namespace tapedeck::app
