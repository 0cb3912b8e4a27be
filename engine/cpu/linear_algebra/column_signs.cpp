#include "engine/cpu/linear_algebra/column_signs.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

template <class T>
std::vector<T> column_signs(Block<const T> a) {
  const auto columns = static_cast<std::size_t>(a.columns);
  std::vector<T> least(columns, T(0)), signs(columns, T(0));
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) least[j] = std::max(least[j], std::abs(a.row(i)[j]));
  for (T& value : least) value *= static_cast<T>(leading_share);
  std::size_t open = columns;
  for (std::int64_t i = 0; i < a.rows && open > 0; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      if (signs[j] == T(0) && std::abs(a.row(i)[j]) >= least[j]) {
        signs[j] = a.row(i)[j] < T(0) ? T(-1) : T(1);
        --open;
      }
  return signs;
}

template <class T>
void turn_columns(Block<T> a, const std::vector<T>& signs) {
  if (std::find(signs.begin(), signs.end(), T(-1)) == signs.end()) return;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < signs.size(); ++j) a.row(i)[j] *= signs[j];
}

#define TAPEDECK_REAL(T)                                \
  template std::vector<T> column_signs(Block<const T>); \
  template void turn_columns(Block<T>, const std::vector<T>&);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
