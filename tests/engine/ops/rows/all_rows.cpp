#include "tests/engine/ops/rows/all_rows.h"

#include "tests/engine/ops/rows/rows_bessel.h"
#include "tests/engine/ops/rows/rows_complex.h"
#include "tests/engine/ops/rows/rows_creation.h"
#include "tests/engine/ops/rows/rows_elementwise.h"
#include "tests/engine/ops/rows/rows_indexing.h"
#include "tests/engine/ops/rows/rows_linear_algebra.h"
#include "tests/engine/ops/rows/rows_math.h"
#include "tests/engine/ops/rows/rows_matrix_shapes.h"
#include "tests/engine/ops/rows/rows_neural.h"
#include "tests/engine/ops/rows/rows_normalization.h"
#include "tests/engine/ops/rows/rows_optim.h"
#include "tests/engine/ops/rows/rows_ordering.h"
#include "tests/engine/ops/rows/rows_recurrent.h"
#include "tests/engine/ops/rows/rows_reduction.h"
#include "tests/engine/ops/rows/rows_shape.h"
#include "tests/engine/ops/rows/rows_strings.h"

namespace tapedeck::testing {

const Rows& all_rows() {
  static const Rows rows = [] {
    Rows all;
    for (const Rows& family :
         {unary_rows(),
          binary_rows(),
          selection_rows(),
          reduction_rows(),
          product_rows(),
          nn_rows(),
          creation_rows(),
          shape_rows(),
          space_batch_rows(),
          joining_rows(),
          indexing_rows(),
          Rows{gather_test(), gather_nd_test(), resample_test(false), resample_test(true), copy_test()},
          scatter_rows(),
          search_rows(),
          more_unary_rows(),
          more_binary_rows(),
          bitwise_rows(),
          incomplete_rows(),
          scan_rows(),
          statistics_rows(),
          order_rows(),
          segment_rows(),
          counting_rows(),
          neural_rows(),
          matrix_shape_rows(),
          linear_algebra_rows(),
          bessel_rows(),
          recurrent_rows(),
          normalization_rows(),
          optimizer_rows(),
          string_rows(),
          complex_rows()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return rows;
}

const Row* row_of(const std::string& op) {
  for (const Row& row : all_rows())
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace tapedeck::testing
