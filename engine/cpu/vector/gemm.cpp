// Matrix products of float64, by Eigen. Its namespace gets a name per instruction set: the linker would
// otherwise keep one set's code for all.
#define TAPEDECK_JOIN_(a, b) a##b
#define TAPEDECK_JOIN(a, b) TAPEDECK_JOIN_(a, b)
#define Eigen TAPEDECK_JOIN(Eigen_, TAPEDECK_ISA)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#include <Eigen/Core>
#pragma GCC diagnostic pop

#include "engine/cpu/dispatch.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
          std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  const Input left(a, transpose_a ? k : m, transpose_a ? m : k, Eigen::OuterStride<>(lda));
  const Input right(b, transpose_b ? n : k, transpose_b ? k : n, Eigen::OuterStride<>(ldb));
  Eigen::Map<Matrix, 0, Eigen::OuterStride<>> out(c, m, n, Eigen::OuterStride<>(ldc));
  if (transpose_a && transpose_b)
    out.noalias() = left.transpose() * right.transpose();
  else if (transpose_a)
    out.noalias() = left.transpose() * right;
  else if (transpose_b)
    out.noalias() = left * right.transpose();
  else
    out.noalias() = left * right;
}

}  // namespace

void add_gemm(LoopTable& table) {
  table.gemm = gemm;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
