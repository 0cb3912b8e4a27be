#include "engine/ops/op.h"

namespace tapedeck {
namespace detail {

// One empty function per family: a call of it makes the linker take the family's object file, and with it the
// rows that register themselves while the program starts.
void link_arithmetic();
void link_functions();
void link_comparison();
void link_matmul();
void link_reduction();
void link_shape();
void link_indexing();
void link_concat();
void link_creation();
void link_random();
void link_neural();

}  // namespace detail

void register_all_ops() {
  detail::link_arithmetic();
  detail::link_functions();
  detail::link_comparison();
  detail::link_matmul();
  detail::link_reduction();
  detail::link_shape();
  detail::link_indexing();
  detail::link_concat();
  detail::link_creation();
  detail::link_random();
  detail::link_neural();
}

}  // namespace tapedeck
