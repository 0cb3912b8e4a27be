// Background threads.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace tapedeck {

/// Threads started while it lives block all signals: those are for the host's main thread, which may sleep in
/// a system call that only a signal to it ends.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

template <class Function>
std::thread start_background_thread(Function&& function) {
  const SignalsBlocked blocked;
  return std::thread(std::forward<Function>(function));
}

}  // namespace tapedeck
