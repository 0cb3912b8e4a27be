// The list of families. A static library gives the linker only the object files that somebody refers to:
// these calls do.
#include "engine/ops/complex.h"
#include "engine/ops/families.h"
#include "engine/ops/op.h"

namespace tapedeck {

void register_all_ops() {
  ops::link_creation();
  ops::link_ranges();
  ops::link_random();
  ops::link_random_draws();
  ops::link_gamma_gradient();
  ops::link_unary();
  ops::link_transcendental();
  ops::link_binary();
  ops::link_comparison();
  ops::link_selection();
  ops::link_cast();
  ops::link_matmul();
  ops::link_reduction();
  ops::link_identity();
  ops::link_shape();
  ops::link_arrange();
  ops::link_blocks();
  ops::link_concat();
  ops::link_padding();
  ops::link_slicing();
  ops::link_indexing();
  ops::link_scatter();
  ops::link_tensor_scatter();
  ops::link_search();
  ops::link_nn();
  ops::link_activation();
  ops::link_special();
  ops::link_bessel();
  ops::link_incomplete();
  ops::link_division();
  ops::link_bitwise();
  ops::link_statistics();
  ops::link_scan();
  ops::link_sorting();
  ops::link_segment();
  ops::link_counting();
  ops::link_convolution();
  ops::link_pooling();
  ops::link_losses();
  ops::link_diagonals();
  ops::link_matrix_shapes();
  ops::link_einsum();
  ops::link_inverses();
  ops::link_determinants();
  ops::link_decompositions();
  ops::link_lu();
  ops::link_matrix_functions();
  ops::link_space_batch();
  ops::link_complex();
  ops::link_fourier();
  ops::link_strings();
  ops::link_string_parts();
}

}  // namespace tapedeck
