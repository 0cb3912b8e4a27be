// The memory of tensors that are not read any more, for the next ones like them.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Keeps one small tensor that nothing refers to any more. While it is offered, the thread's next
/// Tensor::allocate of its dtype and shape on the CPU gets its body and memory, with a new id. In a chain of
/// small ops that saves two allocations, and the computation of strides.
class ReusableTensor {
 public:
  ReusableTensor() = default;
  ReusableTensor(const ReusableTensor&) = delete;

  /// Keeps the tensor, where nothing else refers to it or its memory, else releases it. It is undefined then.
  void keep(Tensor& tensor);

  /// Offers it as long as this lives. Offers of a thread are not nested.
  class Offer {
   public:
    explicit Offer(ReusableTensor& of);
    ~Offer();
    Offer(const Offer&) = delete;

   private:
    ReusableTensor& of_;
  };

 private:
  Tensor kept_;
};

}  // namespace tapedeck
