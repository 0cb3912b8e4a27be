#include "engine/cpu/linear_algebra/rotations.h"

#include <algorithm>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {

template <class T>
typename Rotations<T>::Room Rotations<T>::room(std::int64_t first, std::int64_t count, bool descending) {
  if (target_.columns > 0) {
    runs_.push_back({first, descending, c_.size()});
  } else {  // they are not read
    c_.clear();
    s_.clear();
  }
  const std::size_t begin = c_.size(), end = begin + static_cast<std::size_t>(count);
  c_.resize(end);
  s_.resize(end);
  return {c_.data() + begin, s_.data() + begin};
}

template <class T>
void Rotations<T>::apply_some() {
  if (static_cast<std::int64_t>(c_.size()) > std::max<std::int64_t>(1 << 12, 24 * target_.rows)) apply();
}

template <class T>
void Rotations<T>::apply() {
  constexpr std::int64_t strip = 256 / sizeof(T);
  const RotationLoop<T> rotate = rotation_loops<T>().rotate;
  const double nanoseconds = 5.0 * static_cast<double>(c_.size());  // a strip
  for_blocks((target_.columns + strip - 1) / strip, grain_for(nanoseconds),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t at = begin * strip; at < std::min(end * strip, target_.columns); at += strip)
                 for (std::size_t run = 0; run < runs_.size(); ++run) {
                   const std::size_t first = runs_[run].begin,
                                     last = run + 1 < runs_.size() ? runs_[run + 1].begin : c_.size();
                   rotate(target_.row(runs_[run].first) + at,
                          runs_[run].descending ? -target_.stride : target_.stride,
                          std::min(strip, target_.columns - at), static_cast<std::int64_t>(last - first),
                          c_.data() + first, s_.data() + first);
                 }
             });
  runs_.clear();
  c_.clear();
  s_.clear();
}

template class Rotations<float>;
template class Rotations<double>;

}  // namespace tapedeck::cpu
