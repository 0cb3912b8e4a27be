// Reads the facts of single steps from their records.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "engine/debug/health/facts.h"
#include "engine/debug/training_steps.h"
#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// Which records, and what is known of them.
struct StepToRead {
  std::uint32_t first = 0, last = 0;
  std::uint32_t playback_before = 0;  ///< of the step before; 0: there is none, or it is not known
  bool training = true;               ///< false: ops behind the last step
  bool recompute = true;              ///< values that are not held are recomputed
  std::vector<HandUpdate> by_hand;    ///< in their order
};

/// Everything but StepFacts::step. Throws Cancelled.
StepFacts read_step(Past& past, const StepToRead& step);

/// The same of records that no update ends: what may be why there is none.
StepFacts read_without_steps(Past& past, const StepToRead& records);

// ---- what its files share

/// A record as the reader keeps it.
struct StepOp {
  std::uint32_t number = 0;
  const OpDef* op = nullptr;
  EventKind kind = EventKind::op;
  bool custom = false, backward = false;
  std::uint32_t tape = 0, parent = 0, forward = 0, scope = 0, location = 0;
  std::vector<std::uint64_t> inputs, outputs;
};

/// The step's ops, and the dependencies of their tensors.
class StepGraph {
 public:
  StepGraph(Past& past, const StepToRead& step);

  const std::vector<StepOp>& ops() const { return ops_; }
  bool cut() const { return cut_; }
  /// The op that made it in this step, or nullptr.
  const StepOp* maker(std::uint64_t tensor) const;
  /// The same behind ops that change no number: reshape, cast, identity, …
  const StepOp* maker_of_numbers(std::uint64_t tensor) const;
  /// Whether the tensor is a variable that a gradient was asked for, or was computed from one.
  bool depends(std::uint64_t tensor) const { return depends_.contains(tensor); }
  bool is_source(std::uint64_t tensor) const { return sources_.contains(tensor); }
  /// Whether the target of a gradient depends on the op's results.
  bool leads_to_target(const StepOp& op) const;
  /// Whether, in addition, no weight and no op of a layer lies on the way to that target.
  bool is_behind_weights(const StepOp& op) const;
  /// Whether the op's results reach, through any ops, an op that a tape recorded.
  bool reaches_a_tape(const StepOp& op) const;
  std::vector<std::int64_t> shape(std::uint64_t tensor) const;
  bool is_floating_point(std::uint64_t tensor) const;
  FactPlace place(const StepOp& op) const;
  /// First record that a tape recorded; 0: none.
  std::uint32_t first_on_tape() const { return first_on_tape_; }

 private:
  void find_dependents();
  void find_targets();
  double count(std::uint64_t tensor) const;

  Past& past_;
  bool cut_ = false;
  std::uint32_t first_on_tape_ = 0;
  std::vector<StepOp> ops_;
  std::unordered_map<std::uint64_t, std::size_t> makers_;
  std::unordered_set<std::uint64_t> sources_, depends_;
  std::unordered_set<std::uint64_t> targets_;       ///< what leads to a playback's target
  std::unordered_set<std::uint64_t> meets_weight_;  ///< of them, what meets a weight on the way
};

/// Whether it is an op of that name.
bool is_named(const StepOp& op, std::string_view name);
/// The same, or an op of another framework that computes the same. Its attributes may be others.
bool computes(const StepOp& op, std::string_view name);

/// "mm" of PyTorch's op aten.mm.default; empty for an op of another kind.
std::string torch_name(const StepOp& op);
/// The op's argument of that name; nullptr: the record has none.
const Attribute* argument_of(Past& past, const StepOp& op, AttributeName name);
bool is_argument(Past& past, const StepOp& op, AttributeName name, const Attribute& value);
/// What the tensor was before it was expanded to the shape of another one.
std::uint64_t before_expansion(const StepGraph& graph, std::uint64_t tensor);
/// What a layer of PyTorch's (mm, addmm, convolution) multiplies its weight with; 0: the op is none.
std::uint64_t torch_layer_input(const StepGraph& graph, const StepOp& op);
/// A loss of PyTorch's with labels; nothing: the op is none.
struct TorchLabels {
  std::uint64_t labels = 0;
  std::int64_t classes = 0;  ///< 2: each column is a label of its own, yes or no
  bool numbers = false, yes_or_no = false;
  const StepOp* squash = nullptr;  ///< the softmax whose shares go beside the labels
  std::optional<double> ignored;   ///< a label that does not count
};
std::optional<TorchLabels> torch_labels(Past& past, const StepGraph& graph, const StepOp& op);
/// Whether the op is PyTorch's batch normalisation, and whether it takes the batch's own statistics.
bool is_torch_batch_norm(const StepOp& op);
bool takes_batch_statistics(Past& past, const StepOp& op);
/// Of PyTorch's dropout, the op that multiplies with what was drawn; nullptr: the op draws for none.
const StepOp* torch_dropout(Past& past, const StepGraph& graph, const StepOp& op);

/// Values of labels and of the first layer's inputs (step_values.cpp).
void read_labels(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts);
void read_inputs(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts);
/// Dropout and batch normalisation (step_modes.cpp).
void read_modes(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts);
/// Gradients of PyTorch's that come on top of those of earlier steps (step_arrivals.cpp).
void read_arrivals(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts);
/// Gradients that were cleared between the playback and the optimiser's step (step_cleared.cpp).
void read_cleared(Past& past, const StepGraph& graph, StepFacts& facts);
/// Labels that a loss cannot mean, also where it refused them (step_labels.cpp).
void read_label_troubles(Past& past, const StepToRead& step, StepFacts& facts);
/// What the step's updates are made of, and which way they go (step_updates.cpp).
void read_updates(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts);
/// Whether a softmax's shares add up along another axis than the labels do (step_axes.cpp). `numbers`: the
/// labels are numbers of classes.
void read_axis(Past& past, const StepGraph& graph, const StepOp& softmax, const Tensor& labels, bool numbers,
               bool recompute, StepFacts& facts);
/// Whether a layer's input, whose value that is, was normalised over the wrong axis (step_scales.cpp).
void read_scales(Past& past, const StepGraph& graph, const StepOp& layer, std::uint64_t tensor,
                 const Tensor& input, bool recompute, StepFacts& facts);
/// Attention whose mask is the wrong way round.
void read_masks(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts);
/// By the gradient's tensor: the variable that it is of. Its place is the playback.
std::map<std::uint64_t, SourceFact> gradients_of_step(Past& past, const StepGraph& graph);
/// Whether an update op takes what came of those tensors behind that record, or a variable was assigned it.
bool reaches_an_update(Past& past, const StepGraph& graph, const StepToRead& step,
                       std::unordered_set<std::uint64_t> made, std::uint32_t from);
/// What made the tensor, or what a variable's value was assigned from; nullptr: no op.
const RecordView* maker_behind_assignment(Past& past, std::uint64_t tensor);
/// The value; undefined where it is not held and is not to be recomputed, or is gone, which the facts say
/// then.
Tensor step_value(Past& past, std::uint64_t tensor, bool recompute, StepFacts& facts);

}  // namespace tapedeck::debug
