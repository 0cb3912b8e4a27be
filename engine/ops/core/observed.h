// Reports the begin and end of an event, even if the work throws.
#pragma once

#include <exception>

#include "engine/ops/core/observer.h"

namespace tapedeck::detail {

/// Reports to the observer that `event` begins, runs `work(record)` (which returns Tensors), and reports the
/// end; exceptions of the work propagate. Without an observer it only runs the work, with record 0.
template <class Work>
Tensors observed(Observer* observer, const Event& event, Work&& work) {
  if (!observer) return work(std::uint64_t{0});
  const std::uint64_t record = observer->begin(event);
  const auto failed = [&](const char* text) { observer->end(record, {}, text); };
  Tensors results;
  try {
    results = work(record);
  } catch (const std::exception& error) {
    failed(error.what());
    throw;
  } catch (...) {
    failed("an exception of the host language");
    throw;
  }
  observer->end(record, results, nullptr);
  return results;
}

}  // namespace tapedeck::detail
