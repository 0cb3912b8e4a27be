// Installs Tapedeck's module into an environment: runs `run.sh --install-into`, and reports how far it is.
#pragma once

#include <QObject>
#include <QProcess>

namespace tapedeck::app {

class ModuleInstall : public QObject {
  Q_OBJECT
 public:
  explicit ModuleInstall(QObject* parent = nullptr);
  /// Ends what still runs.
  ~ModuleInstall() override;

  /// `script`: run.sh; `given`: the environment.
  void start(const QString& script, const QString& given);
  void cancel();
  bool running() const { return process_ != nullptr; }

 signals:
  /// What it does now; `percent` of the build, -1: not known.
  void progressed(const QString& sentence, int percent);
  /// Once for each start(). `sentence`: why not, with the last lines that it said, and whether the
  /// environment may have changed all the same.
  void finished(bool installed, const QString& sentence);

 private:
  void read();
  void ended(bool installed);
  void killGroup();

  QProcess* process_ = nullptr;
  QString given_;
  QByteArray said_;
  bool cancelled_ = false;
  bool reached_ = false;  ///< it got as far as the environment, and may have changed it
};

}  // namespace tapedeck::app
