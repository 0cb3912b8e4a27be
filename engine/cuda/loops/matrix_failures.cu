#include "engine/backend/backend.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/loops/matrix_failures.h"

namespace tapedeck::cuda {
namespace {

__global__ void matrix_failures_kernel(std::int64_t count, const int* info, Report report) {
  long long first = no_place, pivot = 0;
  for (std::int64_t i = thread_number(); i < count && first == no_place; i += thread_count())
    if (info[i] != 0) {
      first = i;
      pivot = info[i] - 1;
    }
  report_first(report, first, pivot);
}

}  // namespace

Report report_of(const kernels::FailureText& text) {
  return report_later({.kind = FaultMessage::Kind::matrix,
                       .what = named(text),
                       .batch = {text.batch.begin(), text.batch.end()}});
}

void report_failures(std::int64_t count, const int* info, const kernels::FailureText& text) {
  Grid grid = grid_for(count);
  grid.cooperation = Cooperation::block;
  launch("matrix_failures", grid, matrix_failures_kernel, count, info, report_of(text));
}

}  // namespace tapedeck::cuda
