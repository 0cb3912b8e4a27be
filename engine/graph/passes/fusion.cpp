#include "engine/graph/passes/fusion.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>

#include "engine/graph/fused_ops.h"

namespace tapedeck::graph {
namespace {

// Of 2,000 numbers a chain of three sums takes as long in a fused loop as one by one: all is in the first
// cache.
constexpr std::int64_t usual_least = 2048;
constexpr std::size_t most_nodes_of_chain = 64;  ///< of a chain

std::atomic<std::int64_t> least{usual_least};

/// Finds chains in one walk over the nodes. A chain is open while nothing but its nodes has read its results.
class ChainFinder {
 public:
  explicit ChainFinder(const Graph& graph) : graph_(graph), chain_of_(graph.nodes.size(), none) {}

  std::vector<FusedChain> find() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) take(static_cast<std::int32_t>(i));
    std::vector<FusedChain> found;
    for (Chain& chain : chains_)
      if (chain.nodes.size() > 1 && chain.works > 1) {
        std::sort(chain.nodes.begin(), chain.nodes.end());
        found.push_back({std::move(chain.nodes)});
      }
    return found;
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  struct Chain {
    std::vector<std::int32_t> nodes;
    std::int64_t elements = 0;
    std::vector<std::int64_t> rows;  ///< of its reductions
    std::size_t works = 0;           ///< nodes that do more than pass on
    bool is_open = true;
  };

  const Node& node(std::int32_t number) const { return graph_.nodes[static_cast<std::size_t>(number)]; }
  std::size_t chain_of(std::int32_t number) const { return chain_of_[static_cast<std::size_t>(number)]; }
  bool is_open_chain(std::size_t chain) const { return chain != none && chains_[chain].is_open; }
  bool is_reduction(std::int32_t number) const { return reductions_.contains(number); }

  void take(std::int32_t number) {
    const Node& taken = node(number);
    const std::optional<FusedOp> op = fused_op(graph_, taken);
    const std::int64_t elements = !op ? 0
                                  : op->kind == FusedOp::Kind::reduction
                                      ? element_count(graph_.spec(taken.inputs[0]).shape)
                                      : element_count(taken.results[0].shape);
    const bool fits = op && elements >= least.load(std::memory_order_relaxed) && elements > 1;
    // What is read of chains that the node cannot be in has to be there.
    for (const Value input : taken.inputs)
      if (const std::size_t chain = chain_of(input.node);
          is_open_chain(chain) && (!fits || chains_[chain].elements != elements || is_reduction(input.node)))
        chains_[chain].is_open = false;
    if (!fits) return;
    std::size_t chain = none;
    for (const Value input : taken.inputs) chain = joined(chain, chain_of(input.node));
    const bool begins = op->kind == FusedOp::Kind::call || op->kind == FusedOp::Kind::add_all;
    if (chain == none && begins) chain = chain_with_operand(taken, elements);
    if (chain != none && !has_room(chain, *op)) {
      for (const Value input : taken.inputs)
        if (is_open_chain(chain_of(input.node))) chains_[chain_of(input.node)].is_open = false;
      chain = none;
    }
    if (chain == none) {
      if (!begins) return;
      chain = chains_.size();
      chains_.emplace_back();
      chains_.back().elements = elements;
    }
    add(number, *op, chain);
  }

  void add(std::int32_t number, const FusedOp& op, std::size_t to) {
    Chain& chain = chains_[to];
    chain.nodes.push_back(number);
    chain.works += op.kind != FusedOp::Kind::passed_on;
    chain_of_[static_cast<std::size_t>(number)] = to;
    if (op.kind == FusedOp::Kind::reduction) {
      chain.rows.push_back(op.row);
      reductions_.insert(number);
    }
    for (const Value input : node(number).inputs)
      if (element_count(graph_.spec(input).shape) == chain.elements && chain_of(input.node) == none)
        reader_of_[input] = to;
  }

  bool has_room(std::size_t chain, const FusedOp& op) const {
    if (chains_[chain].nodes.size() >= most_nodes_of_chain) return false;
    if (op.kind != FusedOp::Kind::reduction) return true;
    std::vector<std::int64_t> rows = chains_[chain].rows;
    rows.push_back(op.row);
    return cpu::fused_unit(chains_[chain].elements, rows) > 0;
  }

  /// An open chain that reads one of the node's operands, whose elements are then read once.
  std::size_t chain_with_operand(const Node& of, std::int64_t elements) const {
    for (const Value input : of.inputs)
      if (const auto found = reader_of_.find(input); found != reader_of_.end() &&
                                                     is_open_chain(found->second) &&
                                                     chains_[found->second].elements == elements)
        return found->second;
    return none;
  }

  /// The chain of both, where they can be one; closes the other one where they cannot.
  std::size_t joined(std::size_t one, std::size_t other) {
    if (!is_open_chain(other) || one == other) return one;
    if (one == none) return other;
    Chain& to = chains_[one];
    Chain& from = chains_[other];
    std::vector<std::int64_t> rows = to.rows;
    rows.insert(rows.end(), from.rows.begin(), from.rows.end());
    if (to.nodes.size() + from.nodes.size() >= most_nodes_of_chain ||
        cpu::fused_unit(to.elements, rows) == 0) {
      from.is_open = false;
      return one;
    }
    for (const std::int32_t moved : from.nodes) chain_of_[static_cast<std::size_t>(moved)] = one;
    for (auto& [value, reader] : reader_of_)
      if (reader == other) reader = one;
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    to.rows = std::move(rows);
    to.works += from.works;
    from = {};
    from.is_open = false;
    return one;
  }

  const Graph& graph_;
  std::vector<std::size_t> chain_of_;
  std::vector<Chain> chains_;
  std::set<std::int32_t> reductions_;
  std::map<Value, std::size_t>
      reader_of_;  ///< of values from outside with all elements: a chain that reads them
};

}  // namespace

std::vector<FusedChain> fused_chains(const Graph& graph) {
  // Tapes of the run see each node.
  if (uses_tapes(graph) || graph.has_gaps) return {};
  return ChainFinder(graph).find();
}

Passed fuse(const Graph& graph) {
  Passed passed{graph, {}};
  std::vector<std::pair<std::int32_t, std::int32_t>> fused;
  for (const FusedChain& chain : fused_chains(graph))
    for (const std::int32_t node : chain.nodes) fused.emplace_back(node, chain.nodes.back());
  std::sort(fused.begin(), fused.end());
  for (const auto& [node, last] : fused) passed.changes.push_back({ChangeKind::fused, node, last});
  return passed;
}

void set_least_fused(std::int64_t elements) {
  least.store(elements, std::memory_order_relaxed);
}

std::int64_t least_fused() {
  return least.load(std::memory_order_relaxed);
}

}  // namespace tapedeck::graph
