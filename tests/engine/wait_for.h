// Waiting for another thread.
#pragma once

#include <chrono>
#include <thread>

/// Whether the condition holds within 20 s.
template <class Condition>
bool wait_for(Condition&& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
