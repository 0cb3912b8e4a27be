// A VJP of the past, or the one at the gate, with its input values, to be run again.
#pragma once

#include <functional>
#include <memory>

#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// The value of a tensor that a record mentions. Throws ValueError, Cancelled.
using FindTensor = std::function<Tensor(std::uint64_t id)>;

struct VjpCall {
  const OpDef* op = nullptr;  ///< nullptr: a custom gradient
  Attributes attributes;
  Tensors inputs, outputs, cotangents;
  SmallVector<bool, 8> wanted;
  /// Of a custom gradient: runs again what ran in it, on these cotangents.
  std::function<Tensors(std::span<const Tensor> cotangents)> custom;
  /// Of PyTorch's op: computes in Tapedeck's ops what its VJP gives. `op` is then `own_row`, which has the
  /// schema's names and the formula.
  std::function<Tensors(const VjpCall& call)> in_our_ops;
  std::shared_ptr<const OpDef> own_row;

  /// Gradients of the inputs. On this thread's tapes, where it has some.
  Tensors run() const;
};

/// Which inputs' gradients the VJP was asked for. `forward`: the record whose VJP it is.
SmallVector<bool, 8> wanted_gradients(const Recorder& recorder, const RecordView& vjp,
                                      const RecordView& forward);

/// A tensor of that shape and dtype, whose elements are zeros. Throws ValueError where a trace file says that
/// it is huge.
Tensor placeholder(const Recorder& recorder, const RecordedSpec& spec);

/// Of a built-in VJP. Values that it does not read are placeholders with the right shape and dtype.
/// `for_names`: also those that it does not read, where they can be had: its formula may name them.
VjpCall vjp_call(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                 const FindTensor& find, bool for_names = false);

/// Of a custom gradient that has run: the ops in it that its cotangents flowed through run again, in place of
/// the user's code. Its inputs are placeholders.
VjpCall custom_vjp_call(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                        const FindTensor& find, const CancelFlag* cancel);

/// Of a trace file: throws ValueError where the op does not have so many results with these inputs.
void check_result_count(const Recorder& recorder, const RecordView& forward, std::span<const Tensor> inputs);

/// Whether the two belong together, as those of a live session always do: a damaged trace file may have
/// others.
bool fits(const RecordView& vjp, const RecordView& forward);

}  // namespace tapedeck::debug
