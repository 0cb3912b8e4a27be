#include "engine/ops/families.h"
namespace tapedeck::ops {
void link_decompositions() {}
}
