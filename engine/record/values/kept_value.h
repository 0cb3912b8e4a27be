// A value held by the recorder, counted apart from the program's references, so that their release is
// noticed.
#pragma once

#include "engine/record/trace/tensor_specs.h"

namespace tapedeck {

/// Holds a tensor's storage as an observer. A row-major tensor at the start of its storage needs no body: it
/// is created again on access.
class KeptValue {
 public:
  KeptValue() = default;
  /// `spec`: its number, or 0 if unknown.
  KeptValue(const Tensor& tensor, std::uint32_t spec) {
    if (!tensor) return;
    if (spec != 0 && tensor.contiguous() && tensor.offset() == 0) {
      storage_ = tensor.storage().get();
      storage_->retain_as_observer();
      spec_ = spec;
    } else {
      body_ = tensor.as_observer();
    }
  }
  KeptValue(KeptValue&& other) noexcept
      : storage_(std::exchange(other.storage_, nullptr)), spec_(other.spec_), body_(std::move(other.body_)) {}
  KeptValue& operator=(KeptValue&& other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(spec_, other.spec_);
    std::swap(body_, other.body_);
    return *this;
  }
  ~KeptValue() {
    if (storage_) storage_->release_as_observer();
  }

  explicit operator bool() const { return storage_ != nullptr || bool(body_); }
  const Storage& storage() const { return storage_ ? *storage_ : *body_.storage().get(); }
  /// Of the whole storage.
  std::uint64_t bytes() const { return storage().size(); }
  /// The value as the tensor of that id, also held as an observer.
  Tensor tensor(std::uint64_t id) const {
    if (!storage_) return body_;
    const RecordedSpec spec = spec_of(spec_);
    return Tensor::look(*storage_, id, spec.dtype, spec.shape);
  }

 private:
  Storage* storage_ = nullptr;
  std::uint32_t spec_ = 0;
  Tensor body_;
};

}  // namespace tapedeck
