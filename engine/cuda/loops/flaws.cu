#include "engine/backend/backend.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/loops/flaws.h"

namespace tapedeck::cuda {
namespace {

__global__ void flaws_kernel(std::int64_t count, const int* info, Report report) {
  long long first = no_place, pivot = 0;
  for (std::int64_t i = thread_number(); i < count && first == no_place; i += thread_count())
    if (info[i] != 0) {
      first = i;
      pivot = info[i] - 1;
    }
  report_first(report, first, pivot);
}

}  // namespace

Report report_of(const kernels::FlawText& text) {
  return report_later({.kind = FaultMessage::Kind::flaw,
                       .what = named(text),
                       .batch = {text.batch.begin(), text.batch.end()}});
}

void report_flaws(std::int64_t count, const int* info, const kernels::FlawText& text) {
  Grid grid = grid_for(count);
  grid.cooperation = Cooperation::block;
  launch("flaws", grid, flaws_kernel, count, info, report_of(text));
}

}  // namespace tapedeck::cuda
