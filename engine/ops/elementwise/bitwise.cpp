// Bitwise ops on integers. None is differentiable.
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

using kernels::Binary;

TAPEDECK_OP(bitwise_and_op) = binary_op<Binary::bitwise_and, Kind::integer>(
    {"bitwise_and", {"bitwise.bitwise_and"}, "The bits that are set in both x and y.", "none"}, nullptr);

TAPEDECK_OP(bitwise_or_op) = binary_op<Binary::bitwise_or, Kind::integer>(
    {"bitwise_or", {"bitwise.bitwise_or"}, "The bits that are set in x, y or both.", "none"}, nullptr);

TAPEDECK_OP(bitwise_xor_op) = binary_op<Binary::bitwise_xor, Kind::integer>(
    {"bitwise_xor", {"bitwise.bitwise_xor"}, "The bits that differ between x and y.", "none"}, nullptr);

TAPEDECK_OP(invert_op) = unary_op<kernels::Unary::invert, Kind::integer>(
    {"invert", {"bitwise.invert"}, "Every bit changed: −x − 1.", "none"}, nullptr);

TAPEDECK_OP(left_shift_op) =
    binary_op<Binary::left_shift, Kind::integer>({"left_shift",
                                                  {"bitwise.left_shift"},
                                                  "The bits of x moved y places up, zeros after them. A y "
                                                  "below 0 counts as 0, one past the dtype's bits as their "
                                                  "number less 1.",
                                                  "none"},
                                                 nullptr);

TAPEDECK_OP(right_shift_op) =
    binary_op<Binary::right_shift, Kind::integer>({"right_shift",
                                                   {"bitwise.right_shift"},
                                                   "The bits of x moved y places down, copies of the sign "
                                                   "before them: ⌊x / 2ʸ⌋. A y below 0 counts as 0, one past "
                                                   "the dtype's bits as their number less 1.",
                                                   "none"},
                                                  nullptr);

}  // namespace tapedeck::ops
