// What a graph's runs need to know of its nodes, and where a run keeps its values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/passes/fusion.h"

namespace tapedeck::graph {

/// Where a node's tensors are in the list of all of a graph's values.
struct NodeSlots {
  std::uint32_t first_input = 0, inputs = 0;    ///< in Layout::input_slots
  std::uint32_t first_result = 0, results = 0;  ///< numbers of values
  std::uint32_t first_unread = 0, unread = 0;   ///< in Layout::unread_slots
};

/// Computed once for a graph; immutable.
struct Layout {
  /// What a node of one of the chains reads is read for the last time where the chain's last node runs.
  explicit Layout(const Graph& graph, std::span<const FusedChain> chains = {});

  std::uint32_t slot_of(Value value) const {
    return steps[static_cast<std::size_t>(value.node)].first_result +
           static_cast<std::uint32_t>(value.result);
  }
  std::span<const std::uint32_t> inputs_of(const NodeSlots& step) const {
    return {input_slots.data() + step.first_input, step.inputs};
  }
  /// What has been read for the last time when the node has run.
  std::span<const std::uint32_t> unread_behind(const NodeSlots& step) const {
    return {unread_slots.data() + step.first_unread, step.unread};
  }

  std::vector<NodeSlots> steps;  ///< by node
  std::vector<std::uint32_t> input_slots, unread_slots, result_slots;
  std::uint32_t slot_count = 0;
};

/// The values of one run. A thread keeps the memory of frames that have gone for its next runs.
class Frame {
 public:
  explicit Frame(std::size_t slot_count);
  ~Frame();
  Frame(const Frame&) = delete;

  Tensor& operator[](std::size_t slot) { return values_[slot]; }
  const Tensor& operator[](std::size_t slot) const { return values_[slot]; }

 private:
  std::vector<Tensor> values_;
};

/// A node's inputs: handles on the frame's tensors without reference counts, which must stay there meanwhile.
class BorrowedInputs {
 public:
  BorrowedInputs(const Frame& frame, std::span<const std::uint32_t> numbers) : count_(numbers.size()) {
    if (count_ > few_.size()) [[unlikely]]
      many_.resize(count_);
    Tensor* tensors = count_ > few_.size() ? many_.data() : few_.data();
    for (std::size_t i = 0; i < count_; ++i) tensors[i] = Tensor::adopt(frame[numbers[i]].body());
  }
  ~BorrowedInputs() {
    for (Tensor& tensor : few_) tensor.detach();
    for (Tensor& tensor : many_) tensor.detach();
  }
  BorrowedInputs(const BorrowedInputs&) = delete;
  operator std::span<const Tensor>() const {
    return {count_ > few_.size() ? many_.data() : few_.data(), count_};
  }

 private:
  std::array<Tensor, 4> few_;  // nearly all nodes have no more
  std::vector<Tensor> many_;
  std::size_t count_;
};

}  // namespace tapedeck::graph
