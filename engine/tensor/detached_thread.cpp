#include "engine/tensor/detached_thread.h"

#include <pthread.h>

#include <csignal>

namespace tapedeck::detail {

bool start_detached_thread(void (*body)()) noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setsigmask_np(&attributes, &all);
  pthread_t thread;
  const auto run = [](void* function) -> void* {
    reinterpret_cast<void (*)()>(function)();
    return nullptr;
  };
  const int error = pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(body));
  pthread_attr_destroy(&attributes);
  return error == 0;
}

}  // namespace tapedeck::detail
