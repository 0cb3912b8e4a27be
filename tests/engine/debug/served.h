// A recorder with its debug server, for the tests that talk to it over its socket.
#pragma once

#include <QTemporaryDir>
#include <optional>

#include "engine/debug/server.h"
#include "tests/engine/debug/raw_client.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/wait_for.h"

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

/// The tile at the beginning.
inline tapedeck::protocol::GetTile tile_of(const tapedeck::Tensor& tensor, std::int64_t rows,
                                           std::int64_t columns) {
  tapedeck::protocol::GetTile request;
  request.tensor = tensor.id();
  request.rows = rows;
  request.columns = columns;
  return request;
}
