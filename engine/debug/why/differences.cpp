#include "engine/debug/why/differences.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t few_elements = 64, fewest = 6, most = 200;
constexpr int directions = 3;
constexpr double no_number = std::numeric_limits<double>::infinity();

/// √(mean of the squares) of what is finite.
double usual_size(const std::vector<double>& values, double where_none) {
  double squares = 0;
  std::size_t count = 0;
  for (const double value : values)
    if (std::isfinite(value)) {
      squares += value * value;
      ++count;
    }
  return count == 0 ? where_none : std::sqrt(squares / static_cast<double>(count));
}

}  // namespace

Differences::Differences(Past& past, ForwardFunction f, Tensors point, const Tensors& cotangents,
                         CompareAim aim)
    : past_(past), f_(std::move(f)), point_(std::move(point)), aim_(aim) {
  for (const Tensor& cotangent : cotangents)
    weights_.push_back(cotangent ? cotangent.to_vector() : std::vector<double>());
  for (const std::vector<double>& weights : weights_)
    for (const double weight : weights)
      cotangents_are_finite_ = cotangents_are_finite_ && std::isfinite(weight);
}

Compared Differences::compare(const std::vector<std::size_t>& slots, std::vector<double> gradient,
                              double tolerance) {
  slots_ = slots;
  const Tensor here = point_[slots_.front()];
  values_ = here.to_vector();
  given_ = std::move(gradient);
  typical_ = usual_size(given_, 0);
  scale_ = usual_size(values_, 1);
  compared_ = {};
  compared_.all = given_.size() <= few_elements;
  for (const std::int64_t place : places()) look_at(place);
  if (!compared_.all) along_directions(tolerance);
  for (const std::size_t slot : slots_) point_[slot] = here;
  return std::move(compared_);
}

void Differences::look_at(std::int64_t place) {
  compared_.looks.push_back(at_element(place));
  if (compared_.looks.back().error > compared_.worst.error) compared_.worst = compared_.looks.back();
}

Differences::Outputs Differences::outputs_at(const std::vector<double>& values) {
  past_.step(aim_.done, aim_.total);
  const Tensor moved = Tensor::from_values<double>(values, point_[slots_.front()].shape());
  for (const std::size_t slot : slots_) point_[slot] = moved;
  Outputs outputs;
  for (const Tensor& output : f_(point_)) {
    const std::size_t k = outputs.size();
    outputs.emplace_back();
    if (k >= weights_.size() || weights_[k].empty()) continue;
    outputs.back() = output.to_vector();
    if (outputs.back().size() != weights_[k].size())
      throw ValueError("shape", "run again, its op gives a result of another shape");
  }
  return outputs;
}

/// The weighted sum of what the outputs differ by: what stays the same, infinite or not, adds no rounding.
double Differences::weighed(const Outputs& above, const Outputs& below) const {
  double sum = 0;
  for (std::size_t k = 0; k < std::min(above.size(), below.size()); ++k)
    for (std::size_t i = 0; i < above[k].size(); ++i)
      if (weights_[k][i] != 0 && above[k][i] != below[k][i])
        sum += weights_[k][i] * (above[k][i] - below[k][i]);
  return sum;
}

bool Differences::moves_weighed(const Outputs& above, const Outputs& below) const {
  for (std::size_t k = 0; k < std::min(above.size(), below.size()); ++k)
    for (std::size_t i = 0; i < above[k].size(); ++i)
      if (weights_[k][i] != 0 && above[k][i] != below[k][i]) return true;
  return false;
}

/// All of a small input; of a large one as many as there is time for, the gradient's largest and random ones.
std::vector<std::int64_t> Differences::places() {
  std::vector<std::int64_t> all(given_.size());
  std::iota(all.begin(), all.end(), 0);
  if (all.size() <= few_elements) return all;
  const auto begin = std::chrono::steady_clock::now();
  outputs_at(values_);
  const auto once = std::chrono::steady_clock::now() - begin;
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(
      aim_.time / std::max(4 * once, std::chrono::steady_clock::duration(1)), fewest, most));
  std::vector<std::int64_t> chosen(all);
  const auto half = chosen.begin() + static_cast<std::ptrdiff_t>(std::min(count / 2, chosen.size()));
  const auto size = [&](std::int64_t place) {
    const double value = given_[static_cast<std::size_t>(place)];
    return std::isnan(value) ? no_number : std::abs(value);
  };
  std::partial_sort(chosen.begin(), half, chosen.end(),
                    [&](std::int64_t a, std::int64_t b) { return size(a) > size(b); });
  chosen.erase(half, chosen.end());
  for (std::size_t i = 0; i < count / 2; ++i)
    chosen.push_back(static_cast<std::int64_t>(random_() % given_.size()));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Look Differences::at_element(std::int64_t place) {
  const auto at = static_cast<std::size_t>(place);
  Look look{place, given_[at], 0, -1};
  const double step = 1e-5 * std::max({std::abs(values_[at]), 0.1 * scale_, 1e-6});
  const auto moved = [&](double by) {
    std::vector<double> values = values_;
    values[at] += by;
    return outputs_at(values);
  };
  Outputs above, below;
  const auto slope = [&](double by) {
    above = moved(by);
    below = moved(-by);
    return weighed(above, below) / (2 * by);
  };
  look.found = std::isfinite(values_[at]) ? slope(step) : no_number;
  if (!std::isfinite(look.found)) {
    ++compared_.not_comparable;
  } else if (!std::isfinite(look.given) && !cotangents_are_finite_) {
    ++compared_.not_comparable;  // NaN of a NaN that came in is right, whatever the slope is
  } else if (!std::isfinite(look.given)) {
    look.error = no_number;
    look.unweighed = !moves_weighed(above, below);
    // Where the slope itself has no bound, as that of a root at 0, Inf is what there is to say.
    if (std::isinf(look.given) && std::abs(slope(step / 16)) > 2 * std::abs(look.found)) {
      look.error = -1;
      ++compared_.not_comparable;
    }
  } else {
    look.error = relative(look.given, look.found);
    if (look.error > 1e-3 && is_kink(above, below, step)) {
      ++compared_.kinks;
      look.error = 0;
    }
  }
  return look;
}

/// The slopes to the right and to the left differ: no derivative, whatever the VJP says.
bool Differences::is_kink(const Outputs& above, const Outputs& below, double step) {
  const Outputs here = outputs_at(values_);
  const double right = weighed(above, here) / step, left = weighed(here, below) / step;
  return !(std::abs(right - left) <= 0.05 * (std::abs(right) + std::abs(left)) + 1e-9);
}

double Differences::relative(double given, double found) const {
  const double size = std::max({std::abs(found), std::abs(given) * 0.5, 0.01 * typical_, 1e-30});
  return std::abs(given - found) / size;
}

/// What differences say of the direction less what the gradient says.
double Differences::gap(const std::vector<double>& direction, double& size) {
  const double step = 1e-5 * std::max(scale_, 1e-6);
  std::vector<double> above = values_, below = values_;
  double given = 0;
  size = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    if (direction[i] == 0) continue;
    above[i] += step * direction[i];
    below[i] -= step * direction[i];
    given += given_[i] * direction[i];
    size += std::abs(given_[i] * direction[i]);
  }
  return weighed(outputs_at(above), outputs_at(below)) / (2 * step) - given;
}

void Differences::along_directions(double tolerance) {
  for (int i = 0; i < directions; ++i) {
    std::vector<double> direction(given_.size());
    for (std::size_t k = 0; k < direction.size(); ++k)  // an element that is not a number hides the others
      if (std::isfinite(given_[k]) && std::isfinite(values_[k])) direction[k] = random_() & 1 ? 1 : -1;
    double size = 0;
    const double difference = gap(direction, size);
    const double typical = std::sqrt(static_cast<double>(given_.size())) * typical_;
    if (!(std::abs(difference) > tolerance * std::max(typical, 1e-3 * size))) continue;
    return look_at(halve(direction));
  }
}

/// The element at which the direction's gap arises mostly: the half with the larger gap, again and again.
std::int64_t Differences::halve(const std::vector<double>& direction) {
  std::size_t first = 0, last = direction.size();
  while (last - first > 1) {
    const std::size_t middle = first + (last - first) / 2;
    const auto part = [&](std::size_t from, std::size_t to) {
      std::vector<double> half(direction.size());
      std::copy(direction.begin() + static_cast<std::ptrdiff_t>(from),
                direction.begin() + static_cast<std::ptrdiff_t>(to),
                half.begin() + static_cast<std::ptrdiff_t>(from));
      double size = 0;
      return std::abs(gap(half, size));
    };
    if (part(first, middle) >= part(middle, last))
      last = middle;
    else
      first = middle;
  }
  return static_cast<std::int64_t>(first);
}

std::optional<double> common_factor(const Compared& compared, double tolerance) {
  const Look* largest = nullptr;
  for (const Look& look : compared.looks) {
    if (look.error < 0) continue;
    if (!std::isfinite(look.given)) return std::nullopt;
    if (!largest || std::abs(look.found) > std::abs(largest->found)) largest = &look;
  }
  if (!largest || largest->found == 0) return std::nullopt;
  const double factor = largest->given / largest->found;
  const double smallest = 0.01 * std::max(std::abs(largest->given), std::abs(largest->found));
  for (const Look& look : compared.looks) {
    if (look.error < 0) continue;
    const double due = factor * look.found;
    if (std::abs(look.given - due) > tolerance * std::max(std::abs(due), smallest)) return std::nullopt;
  }
  return factor;
}

}  // namespace tapedeck::debug
