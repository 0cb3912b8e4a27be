// One empty function per family; calling it links the family's object file, whose registry rows register
// themselves.
#pragma once

namespace tapedeck::ops {

void link_creation();
void link_ranges();
void link_random();
void link_random_draws();
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
void link_search();
void link_nn();

}  // namespace tapedeck::ops
