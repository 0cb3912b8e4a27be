// Finds the Python interpreter that has ipykernel, without waiting for it.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>

namespace tapedeck::app {

/// Asks candidates in order until one has ipykernel. One finder serves one search at a time; a new one drops
/// the old.
class InterpreterFinder : public QObject {
  Q_OBJECT
 public:
  explicit InterpreterFinder(QObject* parent = nullptr);
  ~InterpreterFinder() override;

  /// `chosen`: the only candidate, where the user chose one. `environment`: what the session process will
  /// have.
  void find(const QString& chosen, const QProcessEnvironment& environment);
  void cancel();

 signals:
  void found(const QString& interpreter);
  /// A sentence that names what was tried and the missing package.
  void notFound(const QString& sentence);

 private:
  void tryNext();
  void finished(bool usable);

  QStringList candidates_;
  QStringList tried_;
  bool chosen_ = false;
  QProcessEnvironment environment_;
  QProcess* probe_ = nullptr;
};

}  // namespace tapedeck::app
