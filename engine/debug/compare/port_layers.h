// The layers of a port beside those of its original.
#pragma once

#include "engine/debug/compare/first_difference.h"

namespace tapedeck::debug {

/// Each layer's output, what comes into it from outside, and the gradients of both, in the first pass. The
/// first layer, in the order of the left side's outputs, whose output differs is named with both lines, and
/// in it the first pair of ops whose results differ; else the first gradient, backwards. Throws Cancelled.
protocol::ComparedLayers compare_layers(const Comparison& comparison, const ComparedValues& values,
                                        const protocol::CompareLayers& request, const CancelFlag* cancel,
                                        const Jobs::Report& report);

/// The same as the answer to the question that is asked of any comparison.
protocol::FirstDifference first_port_difference(const Comparison& comparison, const ComparedValues& values,
                                                const protocol::FindFirstDifference& request,
                                                const CancelFlag* cancel, const Jobs::Report& report);

}  // namespace tapedeck::debug
