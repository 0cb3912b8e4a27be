// A client of the debug server on a bare ZeroMQ socket, so that it can also send invalid messages.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <zmq.hpp>

#include "engine/debug/signature.h"
#include "engine/protocol/codec.h"

class RawClient {
 public:
  RawClient(const std::string& endpoint, std::string key) : key_(std::move(key)) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.connect(endpoint);
  }

  void send_frames(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i)
      socket_.send(zmq::buffer(frames[i]),
                   i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  void send_bytes(const tapedeck::protocol::Bytes& bytes) {
    const auto signature = tapedeck::debug::sign(key_, bytes);
    send_frames({std::string(signature.begin(), signature.end()), std::string(bytes.begin(), bytes.end())});
  }
  std::uint64_t send(const tapedeck::protocol::Request& request) {
    send_bytes(tapedeck::protocol::encode(++last_request_, request));
    return last_request_;
  }

  /// The next message, if one comes within the time.
  std::optional<tapedeck::protocol::IncomingReply> receive(std::chrono::milliseconds time) {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, time);
    if (item.revents == 0) return std::nullopt;
    zmq::message_t signature, body;
    if (!socket_.recv(signature) || !signature.more() || !socket_.recv(body) || body.more())
      throw std::runtime_error("a reply has two frames");
    const auto span = [](const zmq::message_t& frame) {
      return std::span(static_cast<const std::uint8_t*>(frame.data()), frame.size());
    };
    if (!tapedeck::debug::verify(key_, span(body), span(signature)))
      throw std::runtime_error("a reply is not signed right");
    return tapedeck::protocol::decode_reply(span(body));
  }

  /// The reply to `request`; skips unsolicited ones and progress before it.
  tapedeck::protocol::Reply reply_to(std::uint64_t request) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < give_up)
      if (auto reply = receive(std::chrono::milliseconds(200));
          reply && reply->request == request &&
          !tapedeck::protocol::holds_alternative<tapedeck::protocol::Progress>(reply->message))
        return std::move(reply->message);
    throw std::runtime_error("no reply came");
  }
  template <class Expected>
  Expected ask(const tapedeck::protocol::Request& request) {
    const auto reply = reply_to(send(request));
    if (const auto* failure = tapedeck::protocol::get_if<tapedeck::protocol::Failure>(&reply))
      if constexpr (!std::is_same_v<Expected, tapedeck::protocol::Failure>)
        throw std::runtime_error("failure: " + failure->reason);
    return tapedeck::protocol::get<Expected>(reply);
  }
  tapedeck::protocol::Welcome greet() {
    return ask<tapedeck::protocol::Welcome>(tapedeck::protocol::Hello{tapedeck::protocol::version, "test"});
  }

 private:
  std::string key_;
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
  std::uint64_t last_request_ = 0;
};
