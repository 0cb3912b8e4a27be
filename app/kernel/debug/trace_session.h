// A trace file as a read-only session: a process without Python reads and serves it.
#pragma once

#include <QHash>
#include <QProcess>
#include <memory>

#include "app/kernel/debug/guest_kernel.h"
#include "app/kernel/process/runtime_folder.h"

namespace tapedeck::app {

/// By its name, "run.tapetrace", or by its first bytes where the name says nothing.
bool isTraceFile(const QString& path);

/// starting: the file is being opened. idle: its description has arrived. dead: it can't be opened, or
/// the process that reads it has ended.
class TraceSession : public GuestKernel {
  Q_OBJECT
 public:
  explicit TraceSession(const QString& path, QObject* parent = nullptr);
  ~TraceSession() override;

  const QString& path() const { return path_; }
  void open();

  /// From idle on: of which notebook or program it is, with the sources that belong to it.
  const protocol::TraceFileInfo& info() const { return info_; }

  Runs runs() const override { return Runs::nothing; }
  QString title() const override;
  QString whyNoCells() const override;
  void shutdown() override;

 private:
  void launch();
  void readOutput();
  void processEnded();
  void take(quint64 request, const protocol::Reply& reply);
  void askSources();
  void fail(const QString& sentence);

  const QString path_;
  protocol::TraceFileInfo info_;
  std::unique_ptr<RuntimeFolder> runtime_;
  QByteArray endpoint_, key_;
  std::unique_ptr<QProcess> process_;
  QByteArray output_;
  quint64 infoRequest_ = 0;
  QHash<quint64, std::size_t> sourceRequests_;  ///< which of the sources each is for
};

}  // namespace tapedeck::app
