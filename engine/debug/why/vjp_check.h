// One VJP beside finite differences of its forward op, at the record's own inputs, and all VJPs on the path
// of a gradient.
#pragma once

#include <string>
#include <vector>

#include "engine/debug/why/differences.h"

namespace tapedeck::debug {

/// What the VJP gave for inputs that are one tensor, beside differences.
struct CheckedInput {
  std::string name;  ///< "x"; "argument 0"; "arguments 0 + 1", whose gradients were added
  std::size_t slots = 1;
  std::uint64_t tensor = 0;  ///< the gradient, the first of them; 0: the VJP gave None, which counts as zeros
  Shape shape;
  Compared compared;
  bool wrong = false;
  std::optional<double> factor;  ///< of a wrong one: what all its elements are multiplied with
  bool zero_times = false;       ///< wrong only where 0 came in, times a slope that is not finite
  bool rounded = false;          ///< its digits were lost in a narrow dtype: in float64 the VJP is right

  /// "x[2]"
  std::string at() const;
  /// Of a wrong one: "×2 in every element"; "the largest relative error is 1.5, at x[2]".
  std::string error_text() const;
};

struct VjpCheck {
  const RecordView *vjp = nullptr, *forward = nullptr;  ///< forward may be nullptr: forgotten
  std::vector<CheckedInput> inputs;
  std::vector<std::string> unchecked;  ///< what could not be compared, and why: clauses
  std::size_t kinks = 0, not_comparable = 0;

  bool compared() const;
  const CheckedInput* worst() const;  ///< nullptr: nothing was compared
  bool wrong() const;
};

/// Which of a VJP's gradients are meant, by input; empty: all that it gave. One that is meant and None counts
/// as zeros.
using Slots = std::vector<bool>;

/// For each gradient behind those of the arguments, the variable that it belongs to: the only one of that
/// shape and dtype that the function read; 0: it cannot be determined.
TensorIds variables_of_slots(Past& past, const RecordView& forward, const RecordView& vjp);

/// Throws Cancelled. Where values are gone, or the op takes no float64, `unchecked` says so.
VjpCheck check_vjp(Past& past, const RecordView& vjp, const Slots& slots, const CompareAim& aim);

/// A VJP on the way of gradients from a playback's targets to a tensor.
struct OnPath {
  const RecordView* vjp = nullptr;
  Slots slots;
};
struct GradientPath {
  std::vector<OnPath> vjps;   ///< in the order of the playback
  std::size_t forgotten = 0;  ///< VJPs whose forward op is no longer known: the path may go through them
  std::set<std::uint64_t> tensors;  ///< of the forward pass, that depend on those asked about
  bool guessed = false;             ///< which tensors share memory that was written is not known for sure
};

/// The VJPs of the playback that the gradient with respect to one of these tensors came through: the op of
/// each depends on one of them. Throws Cancelled.
GradientPath path_from(Past& past, const RecordView& playback, std::set<std::uint64_t> tensors);

/// The first VJP of that record's op that ran; nullptr: none. Throws Cancelled.
const RecordView* first_vjp_of(Past& past, const RecordView& forward);

}  // namespace tapedeck::debug
