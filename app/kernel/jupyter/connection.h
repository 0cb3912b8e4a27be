// Where a session process listens and the key that its messages are signed with; the connection file.
#pragma once

#include <QByteArray>
#include <QString>

namespace tapedeck::app {

enum class Channel { shell, iopub, control, standardInput, heartbeat };

/// What Jupyter's connection file says.
struct Connection {
  QString transport = QStringLiteral("ipc");
  QString ip;                      ///< ipc: the path that "-1" … "-5" are appended to
  int ports[5] = {1, 2, 3, 4, 5};  ///< by Channel
  QByteArray key;
  QString file;  ///< the connection file

  /// "ipc:///run/user/1000/tapedeck/x/k-1", "tcp://127.0.0.1:50123".
  QByteArray endpoint(Channel channel) const;
  /// Where the debug server of that session process listens. The rule, which _session/endpoint.py follows:
  /// beside a connection file named connection.json it is the socket `debug`. (For one that Jupyter named
  /// kernel-ID.json it is `tapedeck/ID/debug` in the user's runtime folder, since other sessions' files are
  /// in the same folder.)
  QByteArray debugEndpoint() const;
};

/// A new key and five addresses: in `folder` for "ipc", free ports of 127.0.0.1 for "tcp". Throws
/// std::runtime_error where there are none.
Connection makeConnection(const QString& folder, const QString& transport);

/// Writes connection.file, mode 0600. Throws std::runtime_error with a sentence that names the file.
void writeConnectionFile(const Connection& connection);

}  // namespace tapedeck::app
