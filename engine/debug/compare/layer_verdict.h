// Which layer of a port is the first that differs.
#pragma once

#include <map>

#include "engine/debug/compare/operands.h"

namespace tapedeck::debug {

/// Where the compared layers are in the rows of the first pass. The left side's layers are numbered.
struct LayerRows {
  std::vector<std::size_t> layers;             ///< of each layer of the answer: the left side's, or no_layer
  std::map<std::size_t, std::size_t> outputs;  ///< each layer's last pair of ops
  std::map<std::size_t, std::vector<std::size_t>> forward;  ///< its pairs of ops
  std::uint64_t gone = 0;                                   ///< pairs of values that could not be compared
  std::uint64_t weights = 0;                                ///< that were compared
  std::uint64_t left_weights = 0, right_weights = 0;        ///< without a counterpart
  bool recorded = false;                                    ///< neither side is a file of tensors
  bool left_backward = false, right_backward = false;       ///< it has a backward pass
  std::uint64_t by_extents = 0;                             ///< as in LayerPairs
};

/// What the first backward pass went back from is called so.
inline constexpr const char* loss_name = "loss";
/// What a layer takes of another one is called so, and by that one's name.
inline const std::string taken_name = "input from ";

/// The first result of a record; 0: it has none.
std::uint64_t first_output(const Trace& trace, std::uint32_t record);

/// Fills the answer's `first`, `row`, `sentence` and `complete`: the first layer whose output differs and in
/// it the first op whose inputs agree; else the first weight, and then, backwards, the first gradient.
/// Throws Cancelled.
void tell_layers(const ValuePairs& pairs, const protocol::CompareLayers& request, const LayerRows& rows,
                 protocol::ComparedLayers& answer);

}  // namespace tapedeck::debug
