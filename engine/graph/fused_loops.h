// Runs chains of nodes (passes/fusion.h) as one loop each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/cpu/loops/fused.h"
#include "engine/graph/frame.h"
#include "engine/graph/graph.h"
#include "engine/graph/passes/fusion.h"

namespace tapedeck::graph {

class FusedLoops {
 public:
  /// `graph` and `layout` must stay there. The layout is of the same chains.
  FusedLoops(const Graph& graph, const Layout& layout, std::span<const FusedChain> chains);

  static constexpr std::uint32_t none = UINT32_MAX;
  std::uint32_t chain_of(std::size_t node) const { return chain_of_[node]; }
  std::span<const std::int32_t> nodes_of(std::uint32_t chain) const { return chains_[chain].nodes; }
  std::size_t size() const { return chains_.size(); }

  /// Gives the frame those results of the chain that others read. False, and nothing has happened, where the
  /// nodes must run one by one: memory is short, or an operand is a view whose elements a fused loop would
  /// take another way than the op.
  bool run(std::uint32_t chain, Frame& values) const;

 private:
  struct Operand {
    std::uint32_t slot = 0;
    std::int32_t value = 0;  ///< of the loop
    Shape shape;             ///< along which it is repeated
    bool is_exponent = false;
    bool is_last = false;  ///< nothing reads it behind the chain
  };
  struct Output {
    std::uint32_t slot = 0;
    std::int32_t value = 0;       ///< of the loop, and of another node where this one passes it on
    std::int32_t reduction = -1;  ///< of the loop; or -1
    TensorSpec spec;
    bool is_view = false;  ///< of the output before it with the same value
  };
  struct Chain {
    std::vector<std::int32_t> nodes;
    cpu::FusedLoop loop;
    std::vector<Tensor> parameters;  ///< of attributes
    std::vector<Operand> operands;
    std::vector<Output> outputs;
  };
  class Maker;

  static Tensor memory_for(const Chain& chain, const Output& output, const Frame& values,
                           cpu::FusedLoop& loop);
  static bool place(const Operand& operand, const Tensor& tensor, cpu::FusedLoop& loop, Tensors& held);

  std::vector<Chain> chains_;
  std::vector<std::uint32_t> chain_of_;
};

}  // namespace tapedeck::graph
