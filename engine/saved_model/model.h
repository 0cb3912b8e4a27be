// Saved models: a folder of graph functions and the variables that they share (README.md).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace tapedeck::saved_model {

/// A graph with names for what it takes and gives.
struct Signature {
  std::size_t graph = 0;
  std::vector<std::string> inputs, outputs;  ///< in the order of the graph's arguments and results
};

struct Model {
  std::vector<Variable> variables;
  std::vector<graph::Graph> graphs;
  std::map<std::string, Signature> signatures;
  std::string objects;  ///< JSON, for Python alone; empty: there is none
};

/// Writes the folder, and makes it if it is missing. Until all is written, an older model there stays whole.
/// Throws UnimplementedError for graphs that cannot be saved (graph_writer.h), InvalidArgumentError for
/// signatures that do not fit, WholeFile's errors.
void write_model(const std::string& folder, const Model& model);

/// Throws NotFoundError where there is no such folder, DataLossError for a damaged one, with the place in it,
/// UnimplementedError for a newer version, and for TensorFlow's own SavedModel. `device`: of the variables
/// that can be there.
Model read_model(const std::string& folder, Device device = {});

}  // namespace tapedeck::saved_model
