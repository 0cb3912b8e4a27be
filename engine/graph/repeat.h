// A part of the function that is being traced, to be computed once more: tf.gradients asks for gradients of
// what no tape recorded, so a tape records it now.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/graph/tracer.h"

namespace tapedeck::graph {

/// What leads from the sources to the targets, as a function of the sources.
struct Repeat {
  /// Parameters: `arguments`. Results: the targets, then what the sources are in this graph.
  Graph graph;
  Tensors arguments;
  /// So many arguments come first that are sources and depend on no other source.
  std::size_t free_sources = 0;
  /// For each source the results that it is: none where no target depends on it, and several for a variable
  /// that is read before and after an assignment, or in the function around this one. Variables that branches
  /// and loops read have their tape's gradient, too.
  std::vector<std::vector<std::size_t>> places;
};

/// For the function that this thread traces. held: tensors that count as constants (stop_gradients). What was
/// random in the function has the same values in its repetition.
///
/// Errors: FailedPreconditionError where nothing is traced; InvalidArgumentError for a target of a function
/// around this one, and for tensors of another; UnimplementedError where a branch or a loop that assigns,
/// prints or draws lies between, as it would do so twice, and where a source leads to a target through what a
/// function around this one computed.
Repeat repeat(std::span<const Tensor> targets, std::span<const Tape::Source> sources,
              std::span<const Tensor> held);

}  // namespace tapedeck::graph
