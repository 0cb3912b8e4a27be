// A tracer that knows variables and tapes.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "engine/ops/core/tracer.h"
#include "engine/tape/tape.h"

namespace tapedeck {

/// A VJP that is played while a function is traced.
struct TracedVjp {
  std::string_view name;         ///< of the op or function
  const OpDef* op = nullptr;     ///< nullptr: a gradient of the user's
  const Attributes& attributes;  ///< of the op's call
  std::span<const Tensor> outputs, cotangents;
  std::span<const bool> wanted;  ///< which inputs' gradients
};

class TapeTracer : public Tracer {
 public:
  /// The variable's value at this point of the function: symbolic, the same tensor until something is
  /// assigned.
  virtual Tensor read(const Variable& variable) = 0;
  /// From this point of the function on, the variable has that value, whose dtype and shape were checked.
  virtual void assign(const Variable& variable, const Tensor& value) = 0;

  // ---- tapes that the function makes; each call names the tape by its id
  virtual void tape_started(std::uint64_t tape, bool persistent, bool watch_accessed_variables) = 0;
  virtual void tape_stopped(std::uint64_t tape) = 0;
  virtual void tape_watches(std::uint64_t tape, const Tensor& tensor) = 0;
  virtual void tape_watches(std::uint64_t tape, const Variable& variable) = 0;
  /// What follows is no part of what the tape records, until it is resumed (tape.stop_recording, or another
  /// start).
  virtual void tape_paused(std::uint64_t tape) = 0;
  virtual void tape_resumed(std::uint64_t tape, bool persistent, bool watch_accessed_variables) = 0;
  /// It forgets what it recorded and watched, and records on where it is active.
  virtual void tape_reset(std::uint64_t tape, bool is_active, bool persistent,
                          bool watch_accessed_variables) = 0;
  /// It is asked for several gradients though it is not persistent (Tape::begin_many).
  virtual void tape_plays_often(std::uint64_t tape) = 0;
  /// A tape is asked for gradients; `play` plays it on symbolic tensors.
  virtual Tensors gradient(const Tape::GradientCall& call, const std::function<Tensors()>& play) = 0;
  /// What is traced until part_ends() belongs to a tape's gradient of these targets, or inside that to the
  /// VJP of an op or function.
  virtual void playback_begins(std::span<const Tensor> targets) = 0;
  virtual void vjp_begins(const TracedVjp& vjp) = 0;
  /// `results`: gradients, undefined ones included; empty where it failed.
  virtual void part_ends(std::span<const Tensor> results) = 0;
  /// The cotangents of one op, whose VJP is traced once: where a run may find some of them and not the
  /// others, these are zeros.
  virtual Tensors filled(std::span<const Tensor> cotangents) = 0;
  /// `sum` adds two gradients; where a run finds one of them alone, that is the sum.
  virtual void adds_gradients(const Tensor& sum, const Tensor& one, const Tensor& other) = 0;
};

/// The one of this thread; nullptr where it traces nothing.
inline TapeTracer* current_tape_tracer() {
  Tracer* tracer = current_tracer();
  return tracer ? dynamic_cast<TapeTracer*>(tracer) : nullptr;
}

}  // namespace tapedeck
