// One empty function per family; calling it links the family's object file, whose registry rows register
// themselves.
#pragma once

namespace tapedeck::ops {

void link_creation();
void link_ranges();
void link_random();
void link_random_draws();
void link_gamma_gradient();
void link_unary();
void link_transcendental();
void link_binary();
void link_comparison();
void link_selection();
void link_cast();
void link_matmul();
void link_reduction();
void link_identity();
void link_shape();
void link_arrange();
void link_blocks();
void link_concat();
void link_padding();
void link_slicing();
void link_indexing();
void link_scatter();
void link_tensor_scatter();
void link_search();
void link_nn();
void link_activation();
void link_special();
void link_bessel();
void link_incomplete();
void link_division();
void link_bitwise();
void link_statistics();
void link_scan();
void link_sorting();
void link_segment();
void link_counting();
void link_convolution();
void link_pooling();
void link_losses();
void link_diagonals();
void link_matrix_shapes();
void link_einsum();
void link_inverses();
void link_determinants();
void link_decompositions();
void link_lu();
void link_matrix_functions();
void link_space_batch();
void link_strings();
void link_string_parts();

}  // namespace tapedeck::ops
