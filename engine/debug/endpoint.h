// The file of the server's socket: only its user can access it.
#pragma once

#include <stdexcept>
#include <string>

namespace tapedeck::debug {

/// The server cannot start; the text names the endpoint, the problem, and what is required.
struct ServerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The path of "ipc:///absolute/path". Throws ServerError where it is not such an endpoint, where the folder
/// is not there, belongs to another user or is open to others (it must be 0700), or where something that is
/// no socket has the name.
std::string checked_socket_path(const std::string& endpoint);

/// In a forked child: closes the copies of the parent's sockets at this path. Otherwise clients of the parent
/// would block on them after the parent's end.
void close_inherited(const std::string& path);

/// Makes the socket file 0600.
void close_to_others(const std::string& path);

}  // namespace tapedeck::debug
