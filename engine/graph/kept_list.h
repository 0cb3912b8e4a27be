// What the iterations of a loop keep for its gradient, as a value of a graph.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck::graph {

/// Of each iteration, the first one first.
using KeptList = std::vector<Tensors>;

/// An int64 scalar that owns the list.
Tensor carrier_of(KeptList list);
/// Calls `visit` for each iteration, the last one first. `carrier`: of carrier_of, whose value is the number
/// of iterations. An iteration's tensors go before the next ones are visited where nothing else has the
/// carrier.
void unwind_kept(const Tensor& carrier, const std::function<void(Tensors kept, bool is_last)>& visit);

}  // namespace tapedeck::graph
