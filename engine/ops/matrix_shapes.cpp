#include "engine/ops/families.h"
namespace tapedeck::ops {
void link_matrix_shapes() {}
}
