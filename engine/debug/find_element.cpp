#include "engine/debug/find_element.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/cpu/parallel.h"
#include "engine/debug/tile.h"

namespace tapedeck::debug {
namespace {

using protocol::Sought;

constexpr std::int64_t searched_block = 1 << 16;
constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

/// In one block of elements.
struct FoundInBlock {
  std::int64_t alike = 0;
  std::int64_t first = nowhere, behind = nowhere;  ///< of all; of those behind the place that was given
};

template <class T>
bool value_is_nan(T value) {
  return value != value;
}
template <class T>
bool value_is_finite(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isfinite(value);
  else
    return true;
}

template <class Body>
void each_block(std::int64_t count, const CancelFlag* cancel, Body&& body) {
  cpu::parallel_for(count, searched_block, [&](std::int64_t begin, std::int64_t end) {
    check_cancelled(cancel);
    for (std::int64_t first = begin; first < end; first += searched_block)
      body(first / searched_block, first, std::min(end, first + searched_block));
  });
}

/// The extreme of the finite values; nothing where there are none.
template <class T>
std::optional<T> extreme_among(const T* values, std::int64_t count, bool largest, const CancelFlag* cancel) {
  std::vector<std::optional<T>> of_blocks(
      static_cast<std::size_t>((count + searched_block - 1) / searched_block));
  const auto take = [largest](std::optional<T>& best, T value) {
    if (value_is_finite(value) && (!best || (largest ? value > *best : value < *best))) best = value;
  };
  each_block(count, cancel, [&](std::int64_t number, std::int64_t begin, std::int64_t end) {
    std::optional<T> best;
    for (std::int64_t i = begin; i < end; ++i) take(best, values[i]);
    of_blocks[static_cast<std::size_t>(number)] = best;
  });
  std::optional<T> best;
  for (const std::optional<T>& of_block : of_blocks)
    if (of_block) take(best, *of_block);
  return best;
}

template <class T, class Is>
void look_for(const T* values, std::int64_t count, std::int64_t after, Is&& is, const CancelFlag* cancel,
              protocol::FoundElement& answer) {
  std::vector<FoundInBlock> of_blocks(
      static_cast<std::size_t>((count + searched_block - 1) / searched_block));
  each_block(count, cancel, [&](std::int64_t number, std::int64_t begin, std::int64_t end) {
    FoundInBlock found;
    for (std::int64_t i = begin; i < end; ++i) {
      if (!is(values[i])) continue;
      ++found.alike;
      found.first = std::min(found.first, i);
      if (i > after) found.behind = std::min(found.behind, i);
    }
    of_blocks[static_cast<std::size_t>(number)] = found;
  });
  FoundInBlock all;
  for (const FoundInBlock& found : of_blocks) {
    all.alike += found.alike;
    all.first = std::min(all.first, found.first);
    all.behind = std::min(all.behind, found.behind);
  }
  answer.alike = static_cast<std::uint64_t>(all.alike);
  if (all.alike == 0) return;
  const std::int64_t place = all.behind != nowhere ? all.behind : all.first;
  std::int64_t before = 0;
  for (std::int64_t number = 0; number < place / searched_block; ++number)
    before += of_blocks[static_cast<std::size_t>(number)].alike;
  for (std::int64_t i = place / searched_block * searched_block; i < place; ++i) before += is(values[i]);
  answer.place = place;
  answer.rank = static_cast<std::uint64_t>(before + 1);
  answer.value = static_cast<double>(values[place]);
}

}  // namespace

protocol::FoundElement find_element(const Tensor& tensor, const protocol::FindElement& request,
                                    const CancelFlag* cancel) {
  if (request.after && *request.after < 0)
    throw BadRequest("find_element: the place " + std::to_string(*request.after) + " must not be negative");
  protocol::FoundElement answer;
  answer.tensor = request.tensor;
  const Tensor values = in_numbers(tensor.on_host()).make_contiguous();
  const std::int64_t count = values.count(), after = request.after.value_or(-1);
  if (count == 0) return answer;
  visit_dtype(values.dtype(), [&]<class T>(TypeTag<T>) {
    const T* const x = values.data<T>();
    const auto by = [&](auto is) { look_for(x, count, after, is, cancel, answer); };
    switch (request.sought) {
      case Sought::nan:
        return by([](T value) { return value_is_nan(value); });
      case Sought::infinity:
        return by([](T value) { return !value_is_finite(value) && !value_is_nan(value); });
      case Sought::minimum:
      case Sought::maximum: {
        const std::optional<T> best = extreme_among(x, count, request.sought == Sought::maximum, cancel);
        if (best) by([best](T value) { return value == *best; });
        return;
      }
    }
  });
  if (!answer.place) return answer;
  answer.index.resize(static_cast<std::size_t>(tensor.rank()));
  std::int64_t rest = *answer.place;
  for (int axis = tensor.rank(); axis-- > 0; rest /= tensor.dim(axis))
    answer.index[static_cast<std::size_t>(axis)] = rest % tensor.dim(axis);
  return answer;
}

}  // namespace tapedeck::debug
