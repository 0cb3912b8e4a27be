#include "engine/debug/endpoint.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace tapedeck::debug {
namespace {

[[noreturn]] void refuse(const std::string& endpoint, const std::string& why) {
  throw ServerError("debug server at " + endpoint + ": " + why);
}

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

}  // namespace

std::string checked_socket_path(const std::string& endpoint) {
  constexpr std::string_view scheme = "ipc://";
  if (!endpoint.starts_with(scheme) || endpoint.size() <= scheme.size() || endpoint[scheme.size()] != '/')
    refuse(endpoint, "it must be ipc:// and an absolute path");
  const std::string path = endpoint.substr(scheme.size());
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    refuse(endpoint, "the path has " + std::to_string(path.size()) + " bytes, a socket's may have " +
                         std::to_string(sizeof(sockaddr_un::sun_path) - 1));
  std::string folder = path.substr(0, path.rfind('/'));
  if (folder.empty()) folder = "/";
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0)
    refuse(endpoint, "the folder " + folder + ": " + std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) refuse(endpoint, folder + " is not a folder");
  if (info.st_uid != ::geteuid()) refuse(endpoint, "the folder " + folder + " belongs to another user");
  if ((info.st_mode & 0777) != 0700)
    refuse(endpoint, "the folder " + folder + " has mode " + octal(info.st_mode) +
                         "; it must be 0700, so that no other user can reach the socket");
  if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
    refuse(endpoint, "there is something of that name that is not a socket");
  return path;
}

void close_inherited(const std::string& path) {
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return;
  std::vector<int> inherited;
  while (const dirent* entry = ::readdir(folder)) {
    const int descriptor = std::atoi(entry->d_name);
    sockaddr_un address{};
    socklen_t size = sizeof(address);
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sun_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path) &&
        path == std::string(address.sun_path, ::strnlen(address.sun_path, sizeof(address.sun_path))))
      inherited.push_back(descriptor);
  }
  ::closedir(folder);
  for (const int descriptor : inherited) ::close(descriptor);
}

void close_to_others(const std::string& path) {
  if (::chmod(path.c_str(), 0600) != 0)
    throw ServerError("debug server: the socket " + path +
                      " cannot be closed to others: " + std::strerror(errno));
}

}  // namespace tapedeck::debug
