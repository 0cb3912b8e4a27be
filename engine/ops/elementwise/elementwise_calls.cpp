// The functions of ops.h that run the row of an elementwise op.
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"

namespace tapedeck::ops {

#define TAPEDECK_CALL(name, ...)    \
  extern const OpDef& name##_op;    \
  Tensor name(const Tensor& x) {    \
    return run_op1(name##_op, {x}); \
  }
TAPEDECK_UNARY_OPS(TAPEDECK_CALL)
#undef TAPEDECK_CALL

#define TAPEDECK_CALL(name, ...)                  \
  extern const OpDef& name##_op;                  \
  Tensor name(const Tensor& x, const Tensor& y) { \
    return run_op1(name##_op, {x, y});            \
  }
TAPEDECK_BINARY_OPS(TAPEDECK_CALL)
#undef TAPEDECK_CALL

}  // namespace tapedeck::ops
