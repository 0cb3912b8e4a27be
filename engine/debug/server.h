// Answers the app's requests while the session runs or waits at the gate, on a thread that does not need
// Python.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/debug/endpoint.h"
#include "engine/debug/host_inspector.h"
#include "engine/record/recorder.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {

/// When the recorder records.
enum class WhenToRecord {
  as_chosen,      ///< as its owner and the clients say
  while_attended  ///< from the first client's welcome until the last one is gone; then its values go, too,
                  ///< unless keep_recording says otherwise
};

/// Speaks the protocol of engine/protocol/README.md with any number of clients, from its construction to its
/// destruction. Without clients the gate does not stop; when the last one disconnects, it opens. It also
/// opens if the server must end because of a permanent error, which is printed to stderr.
class DebugServer {
 public:
  /// Binds `endpoint` ("ipc:///folder/name", the folder 0700). `key`: the session's; empty: messages are not
  /// signed. Throws ServerError. The recorder and the host must outlive the server.
  DebugServer(Recorder& recorder, const std::string& endpoint, std::string key,
              const ReplayLimits& limits = {}, HostInspector* host = nullptr,
              WhenToRecord recording = WhenToRecord::as_chosen);
  ~DebugServer();
  DebugServer(const DebugServer&) = delete;

  /// Records from now on, also without clients; what clients chose ends with the last one of them. From
  /// any thread that does not hold the host's lock.
  void keep_recording();

  /// Sends a sentence to the users of all connected clients. From any thread.
  void tell(const std::string& sentence);

  /// The number of connected clients, and whether there ever was one. From any thread.
  std::size_t clients() const;
  bool had_clients() const;

  /// How often its thread has woken up and looked around. While nothing happens this stays as it is. From any
  /// thread.
  std::uint64_t turns() const;

 private:
  class Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::debug
