// Divisions that truncate towards 0, and products and quotients that are 0 where a factor or divisor is.
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {

using kernels::Binary;

TAPEDECK_OP(truncatediv_op) = binary_row({"truncatediv",
                                          {"truncatediv", "math.truncatediv"},
                                          "The quotient x / y cut towards 0, as C divides. Dividing whole "
                                          "numbers by 0 is an InvalidArgumentError.",
                                          "none"},
                                         Kind::ordered, false, binary_shape<Kind::ordered>,
                                         division_forward<Binary::truncatediv>, nullptr);

TAPEDECK_OP(truncatemod_op, VjpReads::inputs) = binary_row(
    {"truncatemod",
     {"truncatemod", "math.truncatemod"},
     "The remainder x − y·truncatediv(x, y), with the sign of x, as C's. Dividing integers by 0 is an "
     "InvalidArgumentError.",
     "dx = dz, dy = −dz·truncatediv(x, y)"},
    Kind::ordered, false, binary_shape<Kind::ordered>, division_forward<Binary::truncatemod>,
    [](const VjpContext& c) {
      return binary_gradients(
          c, [&] { return c.cotangents[0]; },
          [&] { return -c.cotangents[0] * truncatediv(c.inputs[0], c.inputs[1]); });
    });

TAPEDECK_OP(divide_no_nan_op) = binary_op<Binary::divide_no_nan, Kind::inexact>(
    {"divide_no_nan",
     {"div_no_nan", "divide_no_nan", "math.divide_no_nan"},
     "The quotient x / y, but 0 where y is 0.",
     "dx = dz / y, dy = −dz·z / y; both 0 where y = 0"},
    [](const VjpContext& c) {
      const Tensor& y = c.inputs[1];
      return binary_gradients(
          c, [&] { return divide_no_nan(c.cotangents[0], y); },
          [&] { return -c.cotangents[0] * divide_no_nan(c.outputs[0], y); });
    });
TAPEDECK_FACTS(divide_no_nan_op) = {.outside = facts::quotient};

TAPEDECK_OP(multiply_no_nan_op, VjpReads::inputs) = binary_op<Binary::multiply_no_nan, Kind::inexact>(
    {"multiply_no_nan",
     {"math.multiply_no_nan"},
     "The product x·y, but 0 where y is 0 even if x is infinite or NaN.",
     "dx = multiply_no_nan(dz, y), dy = multiply_no_nan(x, dz)"},
    [](const VjpContext& c) {
      return binary_gradients(
          c, [&] { return multiply_no_nan(c.cotangents[0], c.inputs[1]); },
          [&] { return multiply_no_nan(c.inputs[0], c.cotangents[0]); });
    });

}  // namespace tapedeck::ops
