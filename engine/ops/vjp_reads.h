// What tapes must keep.
#pragma once

#include <span>
#include <string_view>

#include "engine/ops/op.h"

namespace tapedeck::detail {

/// For an op that is not listed: everything.
VjpReads vjp_reads_of(std::string_view op);
/// The names listed under `reads`.
std::span<const std::string_view> ops_whose_vjp_reads(VjpReads reads);

}  // namespace tapedeck::detail
