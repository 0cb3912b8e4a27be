// Runs code that may end the process in a child process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace tapedeck {

struct Ending {
  bool died = false;  ///< did not exit by itself
  std::string text;   ///< its standard error
};

/// How a child that calls `f()` ends.
template <class F>
Ending ending_of(F&& f) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    f();
    _exit(0);
  }
  close(ends[1]);
  Ending ending;
  char part[512];
  for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;)
    ending.text.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ending.died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  return ending;
}

}  // namespace tapedeck
