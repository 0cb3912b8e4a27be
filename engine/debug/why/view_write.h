// Writes of a PyTorch program through views, whose gradients are those of the whole tensors.
#pragma once

#include <optional>
#include <vector>

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// Whether the VJP is that of such a write (CopySlices), which is `forward`.
bool is_write_into_view(const RecordView& vjp, const RecordView& forward);

/// The write as a function of the whole tensor in place of the view, and of the op's other inputs.
class ViewWrite {
 public:
  /// nullopt: no record says where the view lies in the whole. Throws ValueError and Cancelled.
  static std::optional<ViewWrite> find(Past& past, const RecordView& vjp, const RecordView& forward);

  /// As it was before the write, as far as the view reaches; beside it the write changes nothing.
  const Tensor& whole() const { return whole_; }
  /// In float64: the whole after the write.
  Tensors operator()(std::span<const Tensor> inputs) const;
  /// What is written into the view where the whole is as it was.
  Tensor written(std::span<const Tensor> inputs) const;

 private:
  ViewWrite(const RecordView& forward, Tensor whole, Shape view, std::vector<std::int64_t> places)
      : forward_(&forward), whole_(std::move(whole)), view_(view), places_(std::move(places)) {}

  const RecordView* forward_;
  Tensor whole_;
  Shape view_;
  std::vector<std::int64_t> places_;  ///< of the view's elements in the whole
};

}  // namespace tapedeck::debug
