// What the records of some sampled steps say of the program itself: which op reads which, and a few values.
// Plain data, so that the rules stay pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tapedeck::debug {

/// An op of the program, in one of its steps.
struct FactPlace {
  std::uint64_t record = 0;
  std::uint32_t location = 0, line = 0;  ///< 0: unknown
  std::string op;
};

/// A softmax or sigmoid whose results an op takes that applies one itself.
struct SquashedFact {
  FactPlace inner, outer;
};

/// Operands of which each repeats along an axis of the other, on the way to what a gradient was asked of, and
/// behind all weights.
struct BroadcastFact {
  FactPlace place;
  std::vector<std::int64_t> left, right, result;
};

/// What the step's first playback was asked for.
struct SourceFact {
  FactPlace place;                        ///< the playback
  std::uint64_t variable = 0, value = 0;  ///< ids
  std::string name;
  std::vector<std::int64_t> shape;
  /// Another variable of that name and shape was there in the step before, and not this one. Nothing: it is
  /// not known.
  std::optional<bool> fresh;
};

struct CustomFact {
  FactPlace place;  ///< the VJP
  std::string name;
  std::uint32_t location = 0, line = 0;  ///< of the function's call
};

/// Classes and labels of a cross entropy.
struct LabelFact {
  FactPlace place;
  std::int64_t classes = 0;  ///< 2: each column is a label of its own, yes or no
  double examples = 0;
  /// How much each class got; of yes or no, of each column how much yes.
  std::vector<double> counts;
  double own_entropy = 0;  ///< mean of the labels' own, in nats: 0 where each names one class
  bool yes_or_no = false;
};

/// A softmax whose shares go beside the labels of another axis.
struct AxisFact {
  FactPlace place;  ///< the softmax
  std::vector<std::int64_t> shape;
  std::int64_t axis = 0;
  double least = 0, most = 0;  ///< what an example's shares add up to
};

/// Weights of attention that let a place see later places alone.
struct MaskFact {
  FactPlace place;  ///< the softmax
  std::vector<std::int64_t> shape;
};

/// Labels that are the numbers which an embedding looks up, each at the same place.
struct EchoFact {
  FactPlace place, loss;  ///< of the gather, and of the loss
  std::int64_t labels = 0;
};

/// An add of a gradient to what the same add gave in the step before, of which an update is made.
struct SumFact {
  FactPlace place;
  std::string variable;
  std::uint64_t steps = 0;  ///< whose gradients it has, this one's among them
  double times = 0;         ///< its norm over the gradient's; 0: not known
  bool in_grad = false;     ///< PyTorch's, in `.grad` of a leaf
  bool by_hand = false;     ///< no optimiser takes it
};

/// Gradients that were there, and were not any more when the optimiser's step ran.
struct ClearedFact {
  FactPlace place;    ///< what set them to zeros; where they became None, the step that had none
  FactPlace arrival;  ///< the playback that gave them
  bool none = false;
  std::vector<std::string> variables;
};

enum class LabelTrouble : std::uint8_t {
  out_of_range,  ///< numbers that no class has; of yes or no, what is not from 0 to 1
  wrong_dtype    ///< the loss refused it
};

/// Labels that the loss cannot mean.
struct LabelTroubleFact {
  FactPlace place;
  LabelTrouble trouble = LabelTrouble::out_of_range;
  std::int64_t classes = 0;  ///< 0: yes or no
  std::uint64_t labels = 0, wrong = 0;
  double least = 0, most = 0;  ///< of those that count
  bool whole = true;           ///< all are whole numbers
  std::optional<double> ignored;
  std::string dtype;
  bool refused = false;  ///< the op failed
};

/// Which way an update goes that no op of an optimiser made.
struct DirectionFact {
  FactPlace place;
  std::uint64_t variable = 0;
  std::string name;
  double cosine = 0;  ///< of the change and the gradient
};

/// A variable that one playback was asked for more than once.
struct TwiceFact {
  FactPlace place;  ///< the playback
  std::uint64_t variable = 0;
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t times = 0, updates = 0;  ///< that it was asked for, and that the step updated it
};

/// What the first layer multiplies its weights with.
struct InputFact {
  FactPlace place;
  std::vector<std::int64_t> shape;
  double least = 0, most = 0, mean = 0, root_mean_square = 0;
  /// The column of the last axis with the largest root mean square, where there are up to a few thousand.
  std::int64_t column = -1;
  double column_least = 0, column_most = 0, column_root_mean_square = 0;
};

/// Features of the first layer's input whose scales differ by orders of magnitude, and that were normalised
/// by one number for each example, or by one for all.
struct ScaleFact {
  FactPlace place;      ///< the op that takes the wrong statistic; of what no op normalised, the layer
  FactPlace statistic;  ///< record 0: no op made it
  FactPlace layer;
  std::vector<std::int64_t> shape;    ///< of the layer's input
  std::vector<std::int64_t> operand;  ///< the statistic's, as the op takes it
  bool of_examples = false;           ///< else one for all
  bool subtracts = false;             ///< it shifts, and does not scale
  /// Columns with the smallest and the largest standard deviation, before and at the layer.
  std::int64_t small_column = 0, large_column = 0;
  double small_before = 0, large_before = 0, small_after = 0, large_after = 0;
};

enum class ModeTrouble : std::uint8_t {
  disturbed_evaluation,  ///< dropout, or a batch's own statistics, where no tape records and none uses it
  initial_statistics     ///< moving statistics on the tape that nothing has moved yet
};

struct ModeFact {
  FactPlace place;
  ModeTrouble trouble = ModeTrouble::disturbed_evaluation;
  std::string layer;  ///< its scope, or its variable's name; may be empty
  bool in_torch = false;
};

/// Of one sampled step, or of the ops behind the last one.
struct StepFacts {
  std::uint64_t step = 0;  ///< of the run, from 1
  bool cut = false;        ///< it has more records than are read
  bool values_gone = false;
  bool in_torch = false;  ///< a program of PyTorch's
  std::vector<SquashedFact> squashed;
  std::vector<BroadcastFact> broadcasts;
  std::vector<SourceFact> sources;
  std::vector<CustomFact> customs;
  std::vector<LabelFact> labels;
  std::vector<InputFact> inputs;
  std::vector<ModeFact> modes;
  std::vector<AxisFact> axes;
  std::vector<MaskFact> masks;
  std::vector<EchoFact> echoes;
  std::vector<SumFact> sums;
  std::vector<ClearedFact> cleared;
  std::vector<LabelTroubleFact> label_troubles;
  std::vector<DirectionFact> directions;
  std::vector<TwiceFact> twice;
  std::vector<ScaleFact> scales;
  std::size_t disturbed = 0;  ///< ops of dropout, or of a batch's own statistics, on the tape
};

/// The user asked whether a custom gradient is right.
struct CheckedGradient {
  std::uint64_t record = 0;  ///< its VJP
  std::string name;
  std::uint32_t location = 0;  ///< of the function's call
  bool wrong = false;
  std::string sentence;  ///< the answer
};

/// All that was read of a run.
struct ProgramFacts {
  std::vector<StepFacts> steps;  ///< in order
  /// The ops after the last step, as far as they were read; without a step, the newest of the run.
  std::optional<StepFacts> behind;
  std::vector<CheckedGradient> checked;
};

}  // namespace tapedeck::debug
