// A function of a saved model, for C++ programs that have no Python.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/tape/variable.h"

namespace tapedeck {

/// What a program saved as a signature:
///     const Function classify = Function::load("models/digits");
///     const Tensors scores = classify({image});
/// Copies share the model. May be called on several threads at once.
class Function {
 public:
  /// Throws what saved_model::read_model() does; NotFoundError names the signatures that there are.
  static Function load(const std::string& folder, const std::string& signature = default_signature);
  static constexpr const char* default_signature = "serving_default";

  /// A tensor that the function takes or gives. `shape`: -1 is an extent of any size; `any_rank`: not even
  /// the number of axes is known.
  struct Parameter {
    std::string name;
    DType dtype{};
    std::vector<std::int64_t> shape;
    bool any_rank = false;
  };
  const std::vector<Parameter>& inputs() const;
  const std::vector<Parameter>& outputs() const;
  /// The model's, which its functions share. Tapes watch the trainable ones.
  const std::vector<Variable>& variables() const;

  /// In the order of inputs(); returns the outputs in theirs. Throws InvalidArgumentError for another number
  /// of arguments, dtype or shape; what the ops throw.
  Tensors operator()(std::span<const Tensor> arguments) const;
  Tensors operator()(std::initializer_list<Tensor> arguments) const {
    return (*this)(std::span(arguments.begin(), arguments.size()));
  }
  /// By the inputs' names. Throws InvalidArgumentError for one that is missing, or that there is not.
  std::map<std::string, Tensor> operator()(const std::map<std::string, Tensor>& arguments) const;

 private:
  struct Body;
  explicit Function(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace tapedeck
