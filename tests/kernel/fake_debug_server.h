// The other side of the debug protocol, run by a test: a ROUTER that sends what the test gives it.
#pragma once

#include <QMessageAuthenticationCode>
#include <QtTest>
#include <zmq.hpp>

#include "engine/protocol/codec.h"

namespace tapedeck::app {

class FakeDebugServer {
 public:
  FakeDebugServer(const QByteArray& endpoint, QByteArray key) : key_(std::move(key)) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.bind(endpoint.toStdString());
  }

  /// The next request; waits for it while events are handled.
  std::optional<protocol::IncomingRequest> next(int limitMs = 30000) {
    std::vector<std::string> frames;
    const bool came = waitFor(
        [&] {
          zmq::message_t part;
          if (!socket_.recv(part, zmq::recv_flags::dontwait)) return false;
          for (frames = {part.to_string()}; part.more();) {
            (void)socket_.recv(part, zmq::recv_flags::none);
            frames.push_back(part.to_string());
          }
          return true;
        },
        limitMs);
    if (!came || frames.size() != 3 || frames[1] != sign(frames[2])) return std::nullopt;
    peer_ = frames[0];
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(frames[2].data());
    return protocol::decode_request({bytes, frames[2].size()});
  }

  /// The next request of that type; Hellos and heartbeats before it are answered by themselves.
  template <class Message>
  std::optional<std::pair<quint64, Message>> expect(int limitMs = 30000) {
    while (auto incoming = next(limitMs)) {
      if (auto* wanted = protocol::get_if<Message>(&incoming->message))
        return std::pair(incoming->request, *wanted);
      if (protocol::holds_alternative<protocol::Hello>(incoming->message)) welcome(incoming->request);
      if (protocol::holds_alternative<protocol::GetStatus>(incoming->message))
        send(incoming->request, protocol::Status{});
    }
    return std::nullopt;
  }

  void welcome(quint64 request, std::uint32_t version = protocol::version) {
    protocol::Welcome welcome;
    welcome.protocol_version = version;
    send(request, welcome);
  }
  void send(quint64 request, const protocol::Reply& reply) {
    const auto bytes = protocol::encode(request, reply);
    const std::string body(bytes.begin(), bytes.end());
    sendRaw({sign(body), body});
  }
  void sendRaw(const std::vector<std::string>& frames) {
    socket_.send(zmq::buffer(peer_), frames.empty() ? zmq::send_flags::none : zmq::send_flags::sndmore);
    for (std::size_t i = 0; i < frames.size(); ++i)
      socket_.send(zmq::buffer(frames[i]),
                   i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  std::string sign(const std::string& body) const {
    if (key_.isEmpty()) return {};
    return QMessageAuthenticationCode::hash(QByteArray::fromStdString(body), key_, QCryptographicHash::Sha256)
        .toStdString();
  }

 private:
  QByteArray key_;
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::router};
  std::string peer_;
};

}  // namespace tapedeck::app
