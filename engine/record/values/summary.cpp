#include "engine/record/values/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <type_traits>

#include "engine/backend/backend.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/parallel.h"
#include "engine/record/values/device_values.h"
#include "engine/tensor/foreign_devices.h"
#include "engine/tensor/narrow.h"

namespace tapedeck {
namespace {

constexpr std::int64_t block_size = kernels::inspected_block;
constexpr double none = std::numeric_limits<double>::quiet_NaN();

using Part = kernels::BlockSummary;

/// For blocks with NaN or infinities, or whose sum overflows double.
template <class T>
Part examine_any(const T* values, std::int64_t count) {
  Part part;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? part.nan : value > 0 ? part.positive_infinity : part.negative_infinity);
      continue;
    }
    ++part.finite;
    part.zeros += value == 0;
    if constexpr (std::is_floating_point_v<T>)
      part.subnormals += value != 0 && std::abs(value) < static_cast<double>(std::numeric_limits<T>::min());
    part.minimum = std::min(part.minimum, value);
    part.maximum = std::max(part.maximum, value);
  }
  const auto finite = static_cast<double>(part.finite);
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(static_cast<double>(values[i]))) part.mean += static_cast<double>(values[i]) / finite;
  for (std::int64_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(values[i]) - part.mean;
    if (std::isfinite(static_cast<double>(values[i]))) part.spread += distance * distance;
  }
  return part;
}

template <class T>
const cpu::StatisticsLoops& loops_of() {
  return cpu::loops().statistics[static_cast<int>(dtype_of<T>())];
}

template <class T>
Part examine(const T* values, std::int64_t count) {
  const cpu::BlockStatistics block = loops_of<T>().examine(values, count);
  if (block.odd != 0 || !std::isfinite(block.sum)) return examine_any(values, count);
  Part part;
  part.finite = static_cast<std::uint64_t>(count);
  part.zeros = block.zeros;
  part.subnormals = block.subnormals;
  part.minimum = block.minimum;
  part.maximum = block.maximum;
  part.mean = block.sum / static_cast<double>(count);
  part.spread = loops_of<T>().spread(values, count, part.mean);
  return part;
}

/// Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983: pairwise combination.
void combine(Part& total, const Part& part) {
  if (part.finite > 0) {
    const auto before = static_cast<double>(total.finite), added = static_cast<double>(part.finite);
    const double distance = part.mean - total.mean;
    total.mean += distance * (added / (before + added));
    total.spread += part.spread + distance * distance * (before * added / (before + added));
  }
  total.finite += part.finite;
  total.zeros += part.zeros;
  total.subnormals += part.subnormals;
  total.nan += part.nan;
  total.positive_infinity += part.positive_infinity;
  total.negative_infinity += part.negative_infinity;
  total.minimum = std::min(total.minimum, part.minimum);
  total.maximum = std::max(total.maximum, part.maximum);
}

using Body = std::function<void(std::int64_t begin, std::int64_t end)>;
void for_blocks(std::int64_t count, bool threaded, const CancelFlag* cancel, const Body& body) {
  const Body checked = [&](std::int64_t begin, std::int64_t end) {
    check_cancelled(cancel);
    body(begin, end);
  };
  if (threaded && count > block_size) return cpu::parallel_for(count, block_size, checked);
  for (std::int64_t begin = 0; begin < count; begin += block_size)
    checked(begin, std::min(count, begin + block_size));
}

template <class T>
void count_by_division(const T* values, std::int64_t count, const cpu::BinScale& scale,
                       std::uint32_t* counts) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(values[i]) / 2 - scale.low;
    if (!(distance >= 0 && distance <= scale.width)) continue;  // NaN, infinities
    const double position = distance / scale.width * scale.outside;
    ++counts[static_cast<std::uint32_t>(std::min(position, scale.last))];
  }
}

template <class T>
void fill_histogram(const T* values, std::int64_t count, Summary& summary, std::uint32_t bins, bool threaded,
                    const CancelFlag* cancel) {
  summary.histogram.assign(bins, 0);
  if (summary.finite == 0 || bins == 0) return;
  cpu::BinScale scale;
  scale.low = summary.minimum / 2;
  scale.width = summary.maximum / 2 - scale.low;
  scale.scale = scale.width > 0 ? bins / scale.width : 0;
  scale.last = bins - 1;
  scale.outside = bins;
  const bool divides = scale.width > 0 && !std::isnormal(scale.scale);  // a width near the limits of doubles
  const std::size_t row = std::size_t{bins} + 1;
  std::mutex mutex;
  for_blocks(count, threaded, cancel, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint32_t> parts(cpu::BinScale::copies * row);
    if (divides)
      count_by_division(values + begin, end - begin, scale, parts.data());
    else
      loops_of<T>().count_bins(values + begin, end - begin, scale, parts.data());
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (i % row < bins) summary.histogram[i % row] += parts[i];
  });
}

void join(std::span<const Part> parts, Summary& summary) {
  Part total;
  for (const Part& part : parts) combine(total, part);
  summary.finite = total.finite;
  summary.zeros = total.zeros;
  summary.subnormals = total.subnormals;
  summary.nan = total.nan;
  summary.positive_infinity = total.positive_infinity;
  summary.negative_infinity = total.negative_infinity;
  if (total.finite > 0) {
    summary.minimum = total.minimum;
    summary.maximum = total.maximum;
    summary.mean = total.mean;
    summary.deviation = std::sqrt(total.spread / static_cast<double>(total.finite));
  }
}

template <class T>
void summarize_values(const T* values, std::int64_t count, Summary& summary, std::uint32_t bins,
                      bool threaded, const CancelFlag* cancel) {
  std::vector<Part> parts(static_cast<std::size_t>(kernels::inspected_blocks(count)));
  for_blocks(count, threaded, cancel, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / block_size)] = examine(values + begin, end - begin);
  });
  join(parts, summary);
  fill_histogram(values, count, summary, bins, threaded, cancel);
}

/// By the framework whose device it is.
void summarize_foreign(const Tensor& tensor, Summary& summary, std::uint32_t bins, const CancelFlag* cancel) {
  std::vector<Part> parts;
  for (const ForeignStatistics& found : foreign_devices().statistics(tensor)) {
    Part& part = parts.emplace_back();
    part.finite = found.finite;
    part.zeros = found.zeros;
    part.subnormals = found.subnormals;
    part.nan = found.nan;
    part.positive_infinity = found.positive_infinity;
    part.negative_infinity = found.negative_infinity;
    part.minimum = found.minimum;
    part.maximum = found.maximum;
    part.mean = found.mean;
    part.spread = found.spread;
  }
  join(parts, summary);
  check_cancelled(cancel);
  summary.histogram.assign(bins, 0);
  if (summary.finite > 0 && bins > 0)
    foreign_devices().histogram(tensor, summary.minimum, summary.maximum, summary.histogram);
}

/// Computed by the device: only a few numbers are transferred.
void summarize_there(const Tensor& tensor, Summary& summary, std::uint32_t bins, const CancelFlag* cancel) {
  const Tensor values = in_kernel_dtype_there(tensor);
  const Backend& gpu = backend(values.device());
  const int number = values.device().index;
  std::vector<Part> parts(static_cast<std::size_t>(kernels::inspected_blocks(values.count())));
  gpu.summarize(number, values.dtype(), values.raw(), values.count(), parts.data());
  join(parts, summary);
  check_cancelled(cancel);
  summary.histogram.assign(bins, 0);
  if (summary.finite > 0 && bins > 0)
    gpu.histogram(number, values.dtype(), values.raw(), values.count(), summary.minimum, summary.maximum,
                  summary.histogram);
}

}  // namespace

Tensor in_kernel_dtype(const Tensor& tensor) {
  const Tensor source = tensor.on_host().make_contiguous();
  if (!has_partial_support(tensor.dtype())) return widened(source);
  return Tensor::from_values<double>(source.to_vector(), source.shape());
}

Summary::Summary() : minimum(none), maximum(none), mean(none), deviation(none) {}

Summary summarize(const Tensor& tensor, std::uint32_t bins, bool threaded, const CancelFlag* cancel) {
  Summary summary;
  summary.count = static_cast<std::uint64_t>(tensor.count());
  if (tensor.dtype() == DType::string) return summary;  // only counted
  if (is_inspected_there(tensor)) {
    (is_foreign(tensor.device()) ? summarize_foreign : summarize_there)(tensor, summary, bins, cancel);
    return summary;
  }
  const Tensor values = in_kernel_dtype(tensor);
  visit_dtype(values.dtype(), [&]<class T>(TypeTag<T>) {
    summarize_values(values.data<T>(), values.count(), summary, bins, threaded, cancel);
  });
  return summary;
}

}  // namespace tapedeck
