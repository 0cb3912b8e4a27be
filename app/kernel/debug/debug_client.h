// The live session's debug server as a Source for the inspector's models.
#pragma once

#include <QByteArray>
#include <QHash>
#include <memory>

#include "app/kernel/debug/debug_worker.h"
#include "app/kernel/mailbox.h"
#include "inspector/model/session/source.h"

namespace tapedeck::app {

/// Lives on the UI thread; its socket on a thread of its own. Requests made without a connection, and
/// those under way when the connection ends, are answered with a Failure of code "cancelled".
class DebugClient : public inspector::Source {
  Q_OBJECT
 public:
  explicit DebugClient(QObject* parent = nullptr);
  ~DebugClient() override;

  /// Connects to the server at `endpoint`, as soon as there is one; drops an earlier connection.
  void open(const QByteArray& endpoint, const QByteArray& key);
  void close();
  /// Before the process is ended: tells its gate so, and reports nothing more. The connection stays until
  /// close() or open(), for a server without a client lets a stopped program run on.
  void leaveToEnd();
  /// The same for an object that is destroyed before the process has ended: the connection lives as long as
  /// the thread that this returns. Nothing else may be called after it.
  std::unique_ptr<SocketThread> releaseToEnd();
  /// How long the server may say nothing before it counts as gone; 20 s by default.
  void setSilenceLimit(std::chrono::milliseconds limit);

  quint64 request(const protocol::Request& message, const QString& channel = {}) override;
  bool connected() const override { return connected_; }

 private:
  void take(std::uint64_t connection, DebugWorker::Event event);
  void setConnected(bool connected);
  void take(protocol::IncomingReply incoming);
  bool forget(quint64 request);  ///< false: it is not pending
  void failPending();
  void sendEnd();

  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<DebugWorker> worker_;
  std::unique_ptr<SocketThread> thread_;
  bool connected_ = false;
  std::uint64_t connection_ = 0;  ///< number of the newest open()
  quint64 lastRequest_ = 0;
  QHash<quint64, QString> pending_;          ///< channel by request
  QHash<QString, quint64> newestOfChannel_;  ///< pending ones only
};

}  // namespace tapedeck::app
