// A recorder with its debug server, for the tests that speak to it over its socket.
#pragma once

#include <QTemporaryDir>
#include <chrono>
#include <optional>
#include <thread>

#include "engine/debug/server.h"
#include "tests/engine/raw_client.h"
#include "tests/engine/recording.h"

inline const std::string key = "the session's key";

/// A recorder, its server, and the folder of the socket.
struct Served : Recording {
  explicit Served(const tapedeck::RecorderOptions& options = {}, const tapedeck::ReplayLimits& limits = {})
      : Recording(options) {
    server.emplace(recorder, endpoint(), key, limits);
  }
  std::string path() const { return folder.filePath("debug").toStdString(); }
  std::string endpoint() const { return "ipc://" + path(); }
  RawClient client() const { return RawClient(endpoint(), key); }

  QTemporaryDir folder;
  std::optional<tapedeck::debug::DebugServer> server;
};

template <class Condition>
bool wait_for(Condition&& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
