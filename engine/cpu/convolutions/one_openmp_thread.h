// Keeps OpenMP's threads out of a library call.
#pragma once

#include <omp.h>

namespace tapedeck::cpu {

/// oneDNN would start its OpenMP threads; the engine's threads already share the work.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

}  // namespace tapedeck::cpu
