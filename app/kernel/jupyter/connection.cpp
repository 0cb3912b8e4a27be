#include "app/kernel/jupyter/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRandomGenerator>
#include <QUuid>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tapedeck::app {
namespace {

constexpr const char* portNames[] = {"shell_port", "iopub_port", "control_port", "stdin_port", "hb_port"};

QByteArray randomKey() {
  std::array<quint32, 8> words;
  QRandomGenerator::system()->generate(words.begin(), words.end());
  return QByteArray(reinterpret_cast<const char*>(words.data()), sizeof(words)).toHex();
}

[[noreturn]] void fail(const QString& what) {
  throw std::runtime_error(
      (what + QStringLiteral(": ") + QString::fromLocal8Bit(std::strerror(errno))).toStdString());
}

/// Holds five ports at once, so that they differ, and lets them go for the session process to bind.
void takeFreePorts(int (&ports)[5]) {
  std::array<int, 5> sockets;
  sockets.fill(-1);
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (sockets[i] < 0 || ::bind(sockets[i], generic, size) != 0 ||
        ::getsockname(sockets[i], generic, &size) != 0) {
      const int error = errno;
      for (const int socket : sockets)
        if (socket >= 0) ::close(socket);
      errno = error;
      fail(QStringLiteral("No free port of 127.0.0.1 for the session process"));
    }
    ports[i] = ntohs(address.sin_port);
  }
  for (const int socket : sockets) ::close(socket);
}

}  // namespace

QByteArray Connection::endpoint(Channel channel) const {
  const char* separator = transport == QLatin1String("tcp") ? ":" : "-";
  return transport.toUtf8() + "://" + QFile::encodeName(ip) + separator +
         QByteArray::number(ports[static_cast<int>(channel)]);
}

QByteArray Connection::debugEndpoint() const {
  return "ipc://" + QFile::encodeName(QFileInfo(file).absolutePath()) + "/debug";
}

Connection makeConnection(const QString& folder, const QString& transport) {
  Connection connection;
  connection.transport = transport;
  connection.file = folder + QStringLiteral("/connection.json");
  connection.key = randomKey();
  if (transport == QLatin1String("tcp")) {
    connection.ip = QStringLiteral("127.0.0.1");
    takeFreePorts(connection.ports);
  } else {
    connection.ip = folder + QStringLiteral("/k");
  }
  return connection;
}

void writeConnectionFile(const Connection& connection) {
  nlohmann::json json = {{"transport", connection.transport.toStdString()},
                         {"ip", connection.ip.toStdString()},
                         {"key", connection.key.toStdString()},
                         {"signature_scheme", "hmac-sha256"},
                         {"kernel_name", "tapedeck"}};
  for (std::size_t i = 0; i < 5; ++i) json[portNames[i]] = connection.ports[i];
  const std::string text = json.dump(2);
  const QByteArray name = QFile::encodeName(connection.file);
  const int file = ::open(name.constData(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(QStringLiteral("The connection file %1 can't be created").arg(connection.file));
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = errno;
  ::close(file);
  errno = error;
  if (written != static_cast<ssize_t>(text.size()))
    fail(QStringLiteral("The connection file %1 can't be written").arg(connection.file));
}

}  // namespace tapedeck::app
