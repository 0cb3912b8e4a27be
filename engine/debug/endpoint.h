// The file of the server's socket: only its user can access it.
#pragma once

#include <stdexcept>
#include <string>

namespace tapedeck::debug {

/// Why the server cannot start: names the endpoint, what is wrong, and what would be right.
struct ServerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The path of "ipc:///absolute/path". Throws ServerError where it is not such an endpoint, where the folder
/// is not there, belongs to another user or is open to others (it must be 0700), or where something that is
/// no socket has the name.
std::string checked_socket_path(const std::string& endpoint);

/// In a forked child: closes the copies of the parent's sockets at this path. Else the parent's clients would
/// wait at them when the parent is gone.
void close_inherited(const std::string& path);

/// Makes the socket file 0600.
void close_to_others(const std::string& path);

}  // namespace tapedeck::debug
