// The terms of a contribution's element in words of the formula: dC[2,7]·B[7,3].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/debug/vjp/bound_formula.h"
#include "engine/debug/vjp/operand_places.h"

namespace tapedeck::debug {

/// An element of a cotangent times the derivative that goes with it.
struct Term {
  std::size_t output = 0;
  std::int64_t element = 0;  ///< in row-major order
  double cotangent = 0, factor = 0, value = 0;
};

double element_of(const Tensor& tensor, std::int64_t element);

/// How the terms are written: the op's formula with their elements put in, where that gives their values;
/// a product with an element of the other operand (matmul, einsum); the cotangent alone, where the derivative
/// is 1 or −1; else the cotangent times ∂C[2,7]/∂A[2,3], or in a custom gradient times ∂dx[3]/∂dz[3].
class TermNames {
 public:
  TermNames(const VjpCall& call, std::size_t input, std::int64_t element, std::span<const Term> terms);

  std::size_t count() const { return terms_.size(); }
  std::string element() const;  ///< "dA[2,3]"
  std::string formula() const;  ///< "dA[2,3] = Σₖ dC[2,k]·B[3,k]"
  std::string expression(std::size_t term) const;
  std::string numbers(std::size_t term) const;
  std::vector<std::string> names() const { return bound_.names; }
  /// The op's own formula was used: it also tells why a term is 0.
  bool from_formula() const { return way_ == Way::formula; }

 private:
  enum class Way { formula, product, unit, derivative };
  /// A symbol of the terms, and which element of it each term reads.
  struct Atom {
    std::string symbol;
    bool gradient = false;
    std::vector<Index> indices;  ///< by term
    std::vector<double> values;
  };

  bool use_formula();
  bool use_product();
  bool use_units();
  std::optional<Index> place(const Tensor& tensor, std::size_t input, const Index& j) const;
  bool add_atom(const std::string& symbol, bool gradient);
  std::optional<double> known_number(const std::string& symbol) const;
  const Atom* atom(const std::string& symbol, bool gradient) const;
  void add_cotangents();
  std::string text(std::size_t term, const std::vector<std::vector<std::string>>* letters,
                   bool numbers) const;

  const VjpCall* call_;
  std::size_t input_;
  std::span<const Term> terms_;
  BoundFormula bound_;
  Index own_;  ///< the element
  Way way_ = Way::derivative;
  protocol::FormulaNode right_;  ///< the formula, without its Σ
  std::vector<Atom> atoms_;      ///< the cotangent first
};

}  // namespace tapedeck::debug
