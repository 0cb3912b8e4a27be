// Where a session's records come from: a live session, a file, or a test. The models know only this.
#pragma once

#include <QObject>
#include <QString>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// Carries requests to a session and brings its replies. Asynchronous: request() returns at once; the reply
/// comes later as a signal on the thread that the source lives on (the UI thread).
class Source : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  /// Sends a request; returns its id (never 0). With a `channel` (one per view and purpose, "tensor/tile"),
  /// an older request of the same channel that is not answered yet is dropped: its reply never arrives; nor
  /// does that of a request that a Cancel names.
  virtual quint64 request(const protocol::Request& message, const QString& channel = {}) = 0;
  virtual bool connected() const = 0;

 signals:
  void connectedChanged(bool connected);
  /// The session refused the handshake or sent bytes that are not a message: a sentence for the user.
  void refused(const QString& reason);
  /// `request` 0: sent unasked (Status).
  void received(quint64 request, const protocol::Reply& reply);
};

}  // namespace tapedeck::inspector
