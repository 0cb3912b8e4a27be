// Writes records as Chrome's trace events, in pieces as the session gives them.
#pragma once

#include <QObject>
#include <QSaveFile>
#include <memory>

#include "inspector/model/runs/profile_model.h"

namespace tapedeck::inspector {

class TraceExport : public QObject {
  Q_OBJECT
 public:
  explicit TraceExport(Session* session, QObject* parent = nullptr);

 public slots:
  /// Another one that is under way is cancelled.
  void start(const QString& path, tapedeck::inspector::TimeSpan span);

 signals:
  void progressed(double share);
  void finished(const QString& path, const QString& error);  ///< `error` empty: the file is there

 private:
  void ask(quint64 first);
  void end(const QString& error);

  Session* session_;
  std::unique_ptr<QSaveFile> file_;
  TimeSpan span_;
};

}  // namespace tapedeck::inspector
