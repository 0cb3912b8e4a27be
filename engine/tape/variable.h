// A named, mutable holder of a tensor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// The static part of a variable's shape, if its shape may change.
struct OpenShape {
  static constexpr std::int64_t any = -1;
  std::optional<std::vector<std::int64_t>> extents;  ///< nullopt: any rank
  bool allows(const Shape& shape) const;
  std::string text() const;  ///< "(None, 3)", "<unknown>"
};

/// Copies share one variable. Reading and assigning are safe from several threads.
class Variable {
 public:
  /// `name` without a suffix; name() adds TensorFlow's ":0". Unnamed ones are called "Variable".
  /// Its values keep the first one's shape or, if `open` is given, match that.
  explicit Variable(const Tensor& initial, std::string name = {}, bool trainable = true,
                    std::optional<OpenShape> open = {});

  /// The current value. Active tapes of this thread that watch accessed variables watch it, if it is
  /// trainable.
  Tensor read() const;
  /// The current value, without tapes watching it.
  Tensor peek() const;
  /// Replaces the value; copies it if it is on another device. Throws InvalidArgumentError, naming the
  /// variable, if dtype or shape differ.
  void assign(const Tensor& value);
  /// Restores the very tensor that it held before, so that an operation leaves no trace. Notifies no
  /// observer.
  void put_back(const Tensor& value);
  /// Replaces the value by change(value), and retries if another thread assigned meanwhile, so that no change
  /// is lost. The shape must stay the same even if `open` allows another.
  void update(const std::function<Tensor(const Tensor&)>& change);

  /// Replaces the values of several variables at once by what `change` makes of them, in their order. It gets
  /// the variables' own references, so it may reuse the memory of a value that has no other reference; if it
  /// throws, all values stay the same. Readers block meanwhile, so `change` must not wait for any. Throws
  /// InvalidArgumentError if a variable occurs twice.
  static void exchange(std::span<const Variable> variables, const std::function<Tensors(Tensors&)>& change);

  /// The variable with that id, if it still exists.
  static std::optional<Variable> find(std::uint64_t id);

  const std::string& name() const;
  /// Sets the name that observers get for its values, including the current one, from now on: to tell apart
  /// variables of the same name. Empty: its own name.
  void show_as(const std::string& name);
  DType dtype() const;
  Device device() const;  ///< of all its values
  Shape shape() const;    ///< of the current value
  const std::optional<OpenShape>& open_shape() const;
  bool trainable() const;
  std::uint64_t id() const;  ///< unique in the process
  bool operator==(const Variable& other) const { return body_ == other.body_; }

 private:
  struct Body;
  struct Living;  ///< all existing variables, by id
  explicit Variable(std::shared_ptr<Body> body) : body_(std::move(body)) {}
  /// The new value as a separate leaf, after checks. `before`: the value whose shape it must have, if any.
  Tensor replacement(const Tensor& value, const Tensor& before = {}) const;
  void check_replacement(const Tensor& value, const Tensor& before) const;

  std::shared_ptr<Body> body_;
};

}  // namespace tapedeck
