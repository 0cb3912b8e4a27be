// Whose memory it is what a thread allocates: the program's, or that of those who look at the program.
#pragma once

namespace tapedeck {

/// While it lives, what this thread allocates belongs to onlookers (bytes_of_onlookers()) until the program
/// gets it: threads that compute values again for views, or analyse the program.
class OnlookerMemory {
 public:
  OnlookerMemory();
  ~OnlookerMemory();
  OnlookerMemory(const OnlookerMemory&) = delete;

 private:
  bool before_;
};

}  // namespace tapedeck
