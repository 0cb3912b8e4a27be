// Calls of graphs: their gradients add to what has arrived at their inputs.
#include <algorithm>

#include "engine/ops/core/observed.h"
#include "engine/tape/playback_run.h"

namespace tapedeck::detail {

/// Whether a call of a graph has a source among its outputs: others of them may depend on it.
bool Playback::gives_source(const Node& node) const {
  if (!node.custom || !node.custom->summing_vjp) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (is_source_[static_cast<std::size_t>(node.first_output) + i]) return true;
  return false;
}

void Playback::play_graph(std::size_t position) {
  const Node& node = *nodes()[position];
  const auto input_slots = node.input_slots;
  const std::size_t first_output = static_cast<std::size_t>(node.first_output), outputs = node.outputs.size();
  Tensors cotangents, sums;
  boost::container::small_vector<bool, 8> wanted, is_source;
  for (std::size_t i = 0; i < outputs; ++i) {
    cotangents.push_back(std::move(cotangents_[first_output + i]));
    is_source.push_back(is_source_[first_output + i] != 0);
  }
  if (std::none_of(cotangents.begin(), cotangents.end(), [](const Tensor& tensor) { return bool(tensor); }))
    return;
  for (const Slot slot : input_slots) {
    wanted.push_back(leads_to_source(slot));
    sums.push_back(wanted.back() ? std::move(cotangents_[static_cast<std::size_t>(slot)]) : Tensor());
  }
  const bool is_last = !tape_.persistent && node.custom.use_count() == 1;
  Tensors gradients = graph_vjp(
      node, {cotangents, sums, {wanted.data(), wanted.size()}, {is_source.data(), outputs}, is_last});
  cotangents.clear();
  sums.clear();
  if (!tape_.persistent) own_nodes_[position].reset();
  boost::container::small_vector<Slot, 8> slots;
  for (std::size_t i = 0; i < input_slots.size(); ++i) slots.push_back(wanted[i] ? input_slots[i] : no_slot);
  for (std::size_t i = 0; i < outputs; ++i)
    slots.push_back(is_source[i] ? static_cast<Slot>(first_output + i) : no_slot);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (slots[i] == no_slot || !gradients[i]) continue;
    cotangents_[static_cast<std::size_t>(slots[i])] = std::move(gradients[i]);
    if (!attended()) continue;
    note_part(slots[i], last_vjp_);
    if (is_source_[static_cast<std::size_t>(slots[i])]) tell_if_finished(slots[i], position);
  }
}

Tensors Playback::graph_vjp(const Node& node, const SummingRequest& request) {
  Tensors of_outputs;
  Tensors sums = observed(
      current_observer(), vjp_event(node, request.cotangents, request.wanted), [&](std::uint64_t record) {
        last_vjp_ = record;
        Tensors found = node.custom->summing_vjp(request);
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(request.wanted.size());
        of_outputs.assign(end, found.end());
        found.erase(end, found.end());
        return found;
      });
  sums.insert(sums.end(), of_outputs.begin(), of_outputs.end());
  return sums;
}

}  // namespace tapedeck::detail
