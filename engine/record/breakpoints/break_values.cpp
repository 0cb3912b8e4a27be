#include "engine/record/breakpoints/break_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/record/values/device_values.h"
#include "engine/record/values/finite.h"
#include "engine/tensor/interrupt.h"
#include "engine/tensor/narrow.h"

namespace tapedeck {
namespace {

using protocol::Measure;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t threaded_from = 1 << 18;

/// Of all values, infinities included; there is no NaN among them.
double extreme(const Summary& summary, bool largest) {
  if (largest && summary.positive_infinity > 0) return infinity;
  if (!largest && summary.negative_infinity > 0) return -infinity;
  if (summary.finite > 0) return largest ? summary.maximum : summary.minimum;
  return largest ? -infinity : infinity;
}

double mean(const Summary& summary) {
  if (summary.positive_infinity > 0) return summary.negative_infinity > 0 ? none : infinity;
  return summary.negative_infinity > 0 ? -infinity : summary.mean;
}

/// Quantities that statistics of the values do not give.
double of_absolutes(const Tensor& tensor, Measure measure) {
  if (is_inspected_there(tensor)) {
    const Summary summary = summarize(absolutes_there(tensor), 0, false);
    if (measure == Measure::minimum) return extreme(summary, false);
    return measure == Measure::sum ? mean(summary) * static_cast<double>(tensor.count()) : mean(summary);
  }
  double smallest = infinity, sum = 0;
  const Tensor values = in_kernel_dtype(tensor);
  visit_dtype(values.dtype(), [&]<class T>(TypeTag<T>) {
    const T* data = values.data<T>();
    for (std::int64_t i = 0; i < values.count(); ++i) {
      const double value = std::abs(static_cast<double>(data[i]));
      smallest = std::min(smallest, value);
      sum += value;
    }
  });
  if (measure == Measure::minimum) return smallest;
  return measure == Measure::sum ? sum : sum / static_cast<double>(tensor.count());
}

}  // namespace

BreakValues::Known& BreakValues::known(const Tensor& tensor) {
  for (Known& entry : known_)
    if (entry.id == tensor.id()) return entry;
  known_.push_back({tensor.id(), false, std::nullopt});
  return known_.back();
}

const Summary& BreakValues::summary(Known& known, const Tensor& tensor) {
  if (known.summary) return *known.summary;
  if (tensor.count() < threaded_from) {
    known.summary = summarize(tensor, 0, false);
  } else {
    const HostUnlock unlocked;
    known.summary = summarize(tensor, 0, true);
  }
  return *known.summary;
}

std::optional<double> measure_of_summary(const Summary& all, const protocol::Quantity& quantity) {
  switch (quantity.measure) {
    case Measure::nan:
      return static_cast<double>(all.nan);
    case Measure::inf:
      return static_cast<double>(all.positive_infinity + all.negative_infinity);
    case Measure::zeros:
      return static_cast<double>(all.zeros);
    default:
      break;
  }
  if (all.nan > 0 || all.count == 0) return none;
  const auto count = static_cast<double>(all.count);
  const bool infinite = all.positive_infinity + all.negative_infinity > 0;
  switch (quantity.measure) {
    case Measure::maximum:
      return quantity.absolute ? std::max(std::abs(extreme(all, true)), std::abs(extreme(all, false)))
                               : extreme(all, true);
    case Measure::minimum:
      if (quantity.absolute) return std::nullopt;
      return extreme(all, false);
    case Measure::mean:
    case Measure::sum:
      if (quantity.absolute) return std::nullopt;
      return quantity.measure == Measure::sum ? mean(all) * count : mean(all);
    case Measure::norm:
      return infinite ? infinity : std::sqrt(count) * std::hypot(all.mean, all.deviation);
    case Measure::deviation:
      return infinite ? none : all.deviation;
    default:
      return none;
  }
}

double BreakValues::measure(const Tensor& tensor, const protocol::Quantity& quantity) {
  Known& entry = known(tensor);
  if (quantity.measure == Measure::nan || quantity.measure == Measure::inf) {
    if (!entry.summary && !entry.finite) entry.finite = all_finite(tensor);
    if (entry.finite) return 0;
  }
  if (const auto value = measure_of_summary(summary(entry, tensor), quantity)) return *value;
  return of_absolutes(tensor, quantity.measure);
}

}  // namespace tapedeck
