// Comparisons and logic, with broadcasting. None is differentiable.
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {

using kernels::Binary;

TAPEDECK_OP(equal_op) = binary_to_bool_op<Binary::equal, Kind::any>(
    {"equal", {"equal", "math.equal"}, "True where x = y; NaN equals nothing.", "none"});

TAPEDECK_OP(not_equal_op) = binary_to_bool_op<Binary::not_equal, Kind::any>(
    {"not_equal", {"not_equal", "math.not_equal"}, "True where x ≠ y; NaN differs from everything.", "none"});

TAPEDECK_OP(less_op) = binary_to_bool_op<Binary::less, Kind::ordered>(
    {"less", {"less", "math.less"}, "True where x < y.", "none"});

TAPEDECK_OP(less_equal_op) = binary_to_bool_op<Binary::less_equal, Kind::ordered>(
    {"less_equal", {"less_equal", "math.less_equal"}, "True where x ≤ y.", "none"});

TAPEDECK_OP(greater_op) = binary_to_bool_op<Binary::greater, Kind::ordered>(
    {"greater", {"greater", "math.greater"}, "True where x > y.", "none"});

TAPEDECK_OP(greater_equal_op) = binary_to_bool_op<Binary::greater_equal, Kind::ordered>(
    {"greater_equal", {"greater_equal", "math.greater_equal"}, "True where x ≥ y.", "none"});

TAPEDECK_OP(logical_and_op) = binary_to_bool_op<Binary::logical_and, Kind::boolean>(
    {"logical_and", {"logical_and", "math.logical_and"}, "True where both x and y are.", "none"});

TAPEDECK_OP(logical_or_op) = binary_to_bool_op<Binary::logical_or, Kind::boolean>(
    {"logical_or", {"logical_or", "math.logical_or"}, "True where x or y or both are.", "none"});

TAPEDECK_OP(logical_xor_op) = binary_to_bool_op<Binary::logical_xor, Kind::boolean>(
    {"logical_xor", {"logical_xor", "math.logical_xor"}, "True where exactly one of x and y is.", "none"});

}  // namespace tapedeck::ops
