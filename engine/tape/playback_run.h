// One playback of a tape.
#pragma once

#include <boost/container/small_vector.hpp>
#include <unordered_map>
#include <vector>

#include "engine/ops/core/observer.h"
#include "engine/tape/playback.h"

namespace tapedeck::detail {

using SourceSlots = boost::container::small_vector<Slot, 2>;

class Playback {
 public:
  Playback(Tape::State& tape, const GradientRequest& request);
  ~Playback();
  Playback(const Playback&) = delete;

  Tensors run();

 private:
  SourceSlots slots_of(const Tape::Source& source) const;
  void mark_nodes();
  bool gives_source(const Node& node) const;
  bool leads_to_source(Slot slot) const;
  void seed();
  void play(std::size_t position);
  void play_graph(std::size_t position);
  Tensors vjp(const Node& node, std::span<const Tensor> cotangents, std::span<const bool> wanted);
  Event vjp_event(const Node& node, std::span<const Tensor> cotangents, std::span<const bool> wanted) const;
  Tensors graph_vjp(const Node& node, const SummingRequest& request);
  void accumulate(Slot slot, Tensor gradient);
  bool attended() const { return observer_ && observer_->attends_gradients(); }
  void note_part(Slot slot, std::uint64_t record);
  bool takes_more(Slot slot, std::size_t position) const;
  bool comes_whole(std::size_t source) const;
  void tell_if_finished(Slot slot, std::size_t position) const;
  void tell_finished(std::size_t source, const Tensor& gradient, bool rows) const;
  bool gathers_rows(const Node& node) const;
  void keep_rows(const Node& node, const Tensor& cotangent);
  Tensor whole_of(const std::vector<Tape::RowGradient>& parts, const Tape::Source& source) const;
  Tensors gradients_of_sources();

  // A persistent tape that is active still grows while it is played, so its nodes are looked up by position;
  // one that is not persistent gives its nodes to the playback, which drops each as soon as it has been
  // played.
  std::vector<std::unique_ptr<Node>>& nodes() { return tape_.persistent ? tape_.nodes : own_nodes_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const {
    return tape_.persistent ? tape_.nodes : own_nodes_;
  }

  Tape::State& tape_;
  const GradientRequest& request_;
  std::vector<std::unique_ptr<Node>> own_nodes_;
  std::vector<std::int32_t> producers_;  // slot → node, or -1
  boost::container::small_vector<SourceSlots, 4> source_slots_;
  boost::container::small_vector<Slot, 4> target_slots_;
  boost::container::small_vector<Tensor, 32> cotangents_;       // by slot
  boost::container::small_vector<std::uint8_t, 32> is_source_;  // by slot
  // By slot: gradients of rows, where rows are wanted and the slot is a value of a variable.
  std::unordered_map<Slot, std::vector<Tape::RowGradient>> rows_;
  boost::container::small_vector<std::uint8_t, 32>
      takes_part_;  // by node: between the targets and the sources
  boost::container::small_vector<std::uint64_t, 32>
      last_parts_;  // by slot: the VJP that gave the newest part, if attends_gradients()
  std::uint64_t last_vjp_ = 0;
  Observer* const observer_ = current_observer();
};

}  // namespace tapedeck::detail
