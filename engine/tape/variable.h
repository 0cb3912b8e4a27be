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

/// What a variable's values have in common, where their shape may change.
struct OpenShape {
  static constexpr std::int64_t any = -1;
  std::optional<std::vector<std::int64_t>> extents;  ///< nothing: any number of axes
  bool allows(const Shape& shape) const;
  std::string text() const;  ///< "(None, 3)", "<unknown>"
};

/// Copies share one variable. Reading and assigning are safe from several threads.
class Variable {
 public:
  /// `name` without a suffix; name() adds TensorFlow's ":0". Unnamed ones are called "Variable".
  /// Its values keep the first one's shape, or, where `open` says so, what of it stays.
  explicit Variable(const Tensor& initial, std::string name = {}, bool trainable = true,
                    std::optional<OpenShape> open = {});

  /// The value now. Active tapes of this thread that watch accessed variables watch it, if it is trainable.
  Tensor read() const;
  /// The value now, unseen by tapes.
  Tensor peek() const;
  /// Replaces the value; one on another device is copied. Throws InvalidArgumentError, naming the variable,
  /// where dtype or shape differ.
  void assign(const Tensor& value);
  /// For what is to have changed nothing: the very value that it had before. No observer is notified.
  void put_back(const Tensor& value);
  /// Replaces the value by `change` of it; again where another thread assigned meanwhile, so that no change
  /// is lost. The shape stays also where it may change.
  void update(const std::function<Tensor(const Tensor&)>& change);

  /// Replaces the values of several variables at once by what `change` makes of them, in their order. It gets
  /// the only handles on the values, so it may reuse the memory of one that nobody else holds; where it
  /// throws, all stay what they were. Readers wait meanwhile, so `change` must not wait for any. Throws
  /// InvalidArgumentError where a variable is there twice.
  static void exchange(std::span<const Variable> variables, const std::function<Tensors(Tensors&)>& change);

  /// The variable of that id, where somebody still holds it.
  static std::optional<Variable> find(std::uint64_t id);

  const std::string& name() const;
  /// What observers hear its values called from now on, the one that it has among them: a name that tells it
  /// from others where its own does not. Empty: its own.
  void show_as(const std::string& name);
  DType dtype() const;
  Device device() const;  ///< of all its values
  Shape shape() const;    ///< the value's now
  const std::optional<OpenShape>& open_shape() const;
  bool trainable() const;
  std::uint64_t id() const;  ///< unique in the process
  bool operator==(const Variable& other) const { return body_ == other.body_; }

 private:
  struct Body;
  struct Living;  ///< all variables that there are, by id
  explicit Variable(std::shared_ptr<Body> body) : body_(std::move(body)) {}
  /// The new value as a leaf of its own; checked. `before`: the value whose shape it must have, where there
  /// is such.
  Tensor replacement(const Tensor& value, const Tensor& before = {}) const;
  void check_replacement(const Tensor& value, const Tensor& before) const;

  std::shared_ptr<Body> body_;
};

}  // namespace tapedeck
