// Attributes a thread's allocations to the program or to its observers.
#pragma once

namespace tapedeck {

/// While it lives, this thread's allocations count as observers' memory (bytes_of_observers()) until the
/// program takes them: for threads that recompute values for views, or analyse the program.
class ObserverMemory {
 public:
  ObserverMemory();
  ~ObserverMemory();
  ObserverMemory(const ObserverMemory&) = delete;

 private:
  bool before_;
};

}  // namespace tapedeck
