// The layers of a side, for a comparison of a port with its original: scopes of modules and Keras layers, the
// values that come into them from outside, and the gradients there; and which layer of one side is which of
// the other.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/debug/compare/name_map.h"
#include "engine/debug/compare/side.h"
#include "engine/debug/why/unwritten_memory.h"

namespace tapedeck::debug {

/// The order in which a weight's axes lie: (in, out), spatial axes first, or (out, in), channels first.
enum class WeightOrder : std::uint8_t { unknown, tensorflow, torch };

/// A tensor that a layer takes and that no op of the pass made: a weight, or data.
struct LayerValue {
  std::uint64_t tensor = 0;
  std::string name;  ///< in its layer: "kernel"; empty: not known
  bool weight = false;
  std::uint64_t gradient = 0;  ///< of it, in the first backward pass; 0: none was found
};

/// What a layer takes of another one in the first pass.
struct TakenTensor {
  std::uint64_t tensor = 0;
  std::uint32_t scope = 0;  ///< of the op that made it; 0: outside of all layers
};

struct Layer {
  std::string scope;  ///< as it was recorded; empty: outside of all layers
  std::string name;   ///< normal_name(), without what all layers of the side have before theirs
  std::vector<LayerValue> values;
  std::vector<TakenTensor> taken;    ///< but for what a layer inside of it made
  std::vector<std::int64_t> output;  ///< unordered_extents() of the last result in the first pass
  std::uint32_t result = 0;          ///< the record that made it
  bool folded = false;               ///< all that it has is the counterpart's of the layer that it lies in
};

/// What a stretch of records has of layers. Values and gradients are those of its first pass: up to the first
/// playback, and in it.
struct SideLayers {
  const Trace* trace = nullptr;
  std::vector<Layer> layers;  ///< the first one is what lies outside of all; then in the order of their begin
  std::unordered_map<std::uint32_t, std::size_t> by_scope;
  /// By the record of a forward op: the gradient of its first result.
  std::unordered_map<std::uint32_t, std::uint64_t> cotangents;
  std::uint64_t foreign_ops = 0, own_ops = 0;
  std::uint32_t pass_end = UINT32_MAX;  ///< the first record behind the first forward pass
  /// Of the first backward pass what it went back from; empty: there was none.
  std::vector<std::uint64_t> losses;
  bool tensors = false;  ///< a file of named tensors: each is a value of the layer that its name has
  std::unordered_map<std::uint64_t, WeightOrder> orders;  ///< of layers' values and their gradients
  std::unordered_set<std::uint64_t> weights;  ///< those of them that are known to be weights, or of one

  bool foreign() const { return foreign_ops > own_ops; }
  std::size_t layer_of(std::uint32_t scope) const;   ///< 0 for a scope that is not known
  WeightOrder order_of(std::uint64_t tensor) const;  ///< unknown of what no layer takes from outside
};

/// Throws Cancelled.
SideLayers layers_of(const Side& side, const Uninitialised& unwritten, const CancelFlag* cancel);

constexpr std::size_t no_layer = SIZE_MAX;

/// Which layers are the same.
struct LayerPairs {
  std::vector<std::size_t> right_of, left_of;  ///< by the layer of the other side; no_layer: only there
  NameMap names;                               ///< the map, written from left to right
  std::uint64_t by_extents = 0;                ///< tensors of a file that have no layer's name, and got one's
};

/// Whether a value of that layer has that whole name, with or without what all layers have before theirs.
bool has_whole_name(const Layer& layer, const LayerValue& value, const std::string& name);

/// By the map, by their names, by the ends of their names, then in order by what weights and results they
/// have. Throws BadRequest for a name in the map that neither side has.
/// What lies in a layer with a counterpart, and has none itself, is folded into it, and a file's tensors
/// without a layer's name go to the layers that have weights of their extents.
LayerPairs pair_layers(SideLayers& left, SideLayers& right, const NameMap& map);

/// The op's name across frameworks, as far as results can be the same: "aten._softmax" is "softmax", and what
/// adds at its end (addmm) is "add".
std::string kind_of_op(const OpDef& op, std::size_t inputs);

}  // namespace tapedeck::debug
