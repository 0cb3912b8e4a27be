// The registry row of an op, and what its functions are given.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/core/attributes.h"
#include "engine/ops/core/facts.h"
#include "engine/tensor/tensor.h"

namespace tapedeck {

struct OpDef;

/// A tensor argument.
struct InputSpec {
  std::string name;
  /// Inputs of one group share a dtype: Python numbers and lists take the dtype of the group's tensors.
  /// '\0': any dtype of its own.
  char group = 'T';
  /// The argument is a list of tensors (concat). It must be the only input; or the last one.
  bool variadic = false;
  /// A Python value without a dtype of its own becomes this where no tensor of the group decides.
  /// none: float32 for floats, int32 for ints.
  std::optional<DType> preferred = std::nullopt;
  std::string old_name = {};  ///< TensorFlow 1's, which Python takes, too
};

enum class AttributeKind : std::uint8_t {
  boolean,
  integer,
  real,
  text,
  dtype,
  integers,  ///< a list; Python may give one int for it
  shape      ///< a list of extents; Python may give a tuple, a list or an integer tensor
};

struct AttributeSpec {
  std::string name;
  AttributeKind kind;
  /// Default; `required` where the caller must give it. std::monostate: None is the default and allowed.
  Attribute fallback;
  bool required = false;
  std::string old_name = {};  ///< TensorFlow 1's, which Python takes, too
};

/// What an op's shape rule and forward function see.
struct OpContext {
  const OpDef& op;
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  /// The shape rule's answer; empty while the shape rule itself runs.
  std::span<const TensorSpec> outputs;
  Device device = {};  ///< where it was placed

  const Attribute& attribute(AttributeName name) const;
  template <class T>
  const T& get(AttributeName name) const {
    return std::get<T>(attribute(name));
  }
  bool is_none(AttributeName name) const { return std::holds_alternative<std::monostate>(attribute(name)); }
};

/// What a VJP sees: the forward call, and the gradients of its outputs.
struct VjpContext {
  const OpDef& op;
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  std::span<const Tensor> outputs;
  /// One per output; undefined where no gradient reached that output.
  std::span<const Tensor> cotangents;
  /// Which inputs' gradients are wanted, one per input. A VJP skips work for the others.
  std::span<const bool> wanted;

  const Attribute& attribute(AttributeName name) const;
  template <class T>
  const T& get(AttributeName name) const {
    return std::get<T>(attribute(name));
  }
  bool is_none(AttributeName name) const { return std::holds_alternative<std::monostate>(attribute(name)); }
};

/// Checks dtypes, shapes and attributes (throwing errors that name the op, the argument and the values) and
/// says what will come out: nothing where OpDef::shape_of_values is set. Touches no element.
using ShapeRule = TensorSpecs (*)(const OpContext&);
/// Computes the outputs on the inputs' device; called after the shape rule has passed. Pure: the same inputs
/// and attributes give the same bits, whatever the number of threads.
using Forward = Tensors (*)(const OpContext&);
/// Gradients of the inputs, one per input, undefined where there is none or none is wanted. Calls ops only,
/// never kernels, so it can be stepped and differentiated again.
using Vjp = Tensors (*)(const VjpContext&);

/// What a call has to do at least; rules and conventions stand in cost.h.
struct OpCost {
  double flops = 0;  ///< arithmetic operations
  double bytes = 0;  ///< read and written
};
/// A call without its values.
struct CostContext {
  const OpDef& op;
  std::span<const TensorSpec> inputs;
  const Attributes& attributes;
  std::span<const TensorSpec> outputs;

  const Attribute& attribute(AttributeName name) const;
  template <class T>
  const T& get(AttributeName name) const {
    return std::get<T>(attribute(name));
  }
  bool is_none(AttributeName name) const { return std::holds_alternative<std::monostate>(attribute(name)); }
};
using CostRule = OpCost (*)(const CostContext&);

/// Which of the forward call's values a VJP reads (tests/engine/ops/tst_vjp_reads.cpp finds it out); dtypes
/// and shapes it may always ask for. A tape lets large values go that no VJP will read.
enum class VjpReads : std::uint8_t { shapes, inputs, outputs, everything };

/// What Python gets of an op with several outputs: a tuple, named where TensorFlow's is.
struct ResultForm {
  std::vector<std::string> fields = {};  ///< a name for each output: {"q", "r"}
  std::string tuple_name = {};           ///< of the named tuple, TensorFlow's: "Qr"; empty: a plain tuple
  std::string alone_without = {};        ///< an attribute; where it is False, the first output comes alone
};

/// bits: sums and products of the same bits are the same; order: what is greater stays greater.
enum class Uint64Way : std::uint8_t { none, bits, order };

/// What the tape and the analyses (engine/debug) need to know of how an op's elements come about, where the
/// row's functions alone do not tell it.
enum class Form : std::uint8_t {
  other,
  sum,     ///< of two tensors: how a playback adds up gradients
  matmul,  ///< of the last two axes, by `transpose_a`, `adjoint_a` and their like
  einsum,
  convolution,            ///< of images with filters [rows, columns, channels, results]
  depthwise_convolution,  ///< the last extent of its filters: results of each channel
  reduction,              ///< over the axes that its attribute `axis` names
  gather,                 ///< of slices
  drawn,                  ///< random numbers, in another dtype other ones
  bits,                   ///< its dtype says how bits are read
};

struct OpDef {
  std::string name;                       ///< the op's one name in records and errors, TensorFlow's: "matmul"
  std::vector<std::string> python_names;  ///< under `tf.`: {"matmul", "linalg.matmul"}; empty: not public
  std::vector<InputSpec> inputs;
  std::vector<AttributeSpec> attributes;
  ShapeRule shape_rule = nullptr;
  Forward forward = nullptr;
  Form form = Form::other;
  VjpReads vjp_reads = VjpReads::everything;
  Vjp vjp = nullptr;        ///< nullptr: not differentiable (comparisons, argmax, random)
  std::string vjp_formula;  ///< for the inspector: "dA = dC·Bᵀ, dB = Aᵀ·dC"; "none" where vjp is nullptr
  CostRule cost = nullptr;  ///< nullptr: one operation for each element of the largest operand
  std::string doc;  ///< first line: what it does; then shapes, dtypes, errors; formulas with their source
  /// Arguments in Python's order where that is not "inputs, then attributes": names of either, and
  /// `name` where TensorFlow has it in between.
  std::vector<std::string> python_order = {};
  /// Arguments of TensorFlow's that change no result: they are taken where its `name` is.
  std::vector<std::string> python_hints = {};
  /// The forward function takes dtypes without kernels as they are: it moves elements, or converts them
  /// itself. Others get them widened, and their results are rounded back.
  bool takes_narrow = false;
  /// The same for float16 and bfloat16 alone, on devices that multiply them (Backend::multiplies_halves).
  bool half_products = false;
  /// The forward function takes string, uint64 and complex tensors as they are, as far as the shape rule lets
  /// them pass. Where this is not set, and takes_narrow neither, run_op refuses them.
  bool takes_others = false;
  /// The VJP holds for complex numbers as it stands, in the convention of elementwise/complex.h: that of what
  /// has no complex derivative. The others are made for real numbers, and run_vjp conjugates around them.
  bool complex_vjp = false;
  /// How int64 kernels stand in for uint64 where the forward function does not take it.
  Uint64Way uint64_way = Uint64Way::none;
  /// Such results are cut to the dtype's range, where others wrap around or become infinite: extremes of
  /// nothing.
  bool saturates = false;
  /// Every op with several outputs has this or returns_list. One output alone comes as it is: svd's s.
  ResultForm results = {};
  bool stops_gradient = false;  ///< a gradient that ends here is meant to
  bool updates = false;         ///< an optimiser's step: the first result is the variable's new value
  bool gpu_kernel = true;     ///< false: run_op takes the call to the CPU and back, by copies that it records
  bool immediates = false;    ///< on a GPU its kernels take scalars of the host as they are
  bool returns_list = false;  ///< Python gets a list even of one output (split, unstack)
  /// The shapes of the results depend on values: the shape rule checks and announces nothing, and the forward
  /// function decides. Of such a row nothing is widened: it sets takes_narrow, or takes no narrow dtype.
  bool shape_of_values = false;
  OpFacts facts = {};
  int index = -1;                                  ///< position in the registry; set by it
  std::vector<std::uint32_t> attribute_keys = {};  ///< of the attributes' names; set by the registry

  /// Where in a call's attributes that one stands; nothing for a name that the row lacks.
  std::optional<std::size_t> find_place(AttributeName attribute) const {
    for (std::size_t i = 0; i < attribute_keys.size(); ++i)
      if (attribute_keys[i] == attribute.key()) return i;
    return std::nullopt;
  }
  bool has(AttributeName attribute) const { return find_place(attribute).has_value(); }
  /// The same for a row that must have it: throws std::logic_error otherwise.
  std::size_t place_of(AttributeName attribute) const {
    if (const auto place = find_place(attribute)) return *place;
    throw_unknown(attribute);
  }
  const Attribute& value_of(const Attributes& values, AttributeName attribute) const {
    return values[place_of(attribute)];
  }

 private:
  [[noreturn]] void throw_unknown(AttributeName attribute) const;
};

inline const Attribute& OpContext::attribute(AttributeName name) const {
  return op.value_of(attributes, name);
}
inline const Attribute& VjpContext::attribute(AttributeName name) const {
  return op.value_of(attributes, name);
}
inline const Attribute& CostContext::attribute(AttributeName name) const {
  return op.value_of(attributes, name);
}

class Registry {
 public:
  static Registry& instance();
  /// Called once per op while the program starts (see TAPEDECK_OP). Aborts on a name that exists already.
  const OpDef& add(OpDef op);
  /// While the program starts, too.
  void describe(const OpDef& op, const OpFacts& facts);
  const OpDef* find(std::string_view name) const;
  const OpDef& at(int index) const;
  std::size_t size() const;

 private:
  Registry() = default;
};

/// Ends an op's section: `TAPEDECK_OP(matmul_op) = { .name = "matmul", … };`
/// defines `const OpDef& matmul_op` and registers it. Of a row that a function makes, what its VJP reads
/// stands beside it, and its form: `TAPEDECK_OP(exp_op, VjpReads::outputs) = unary_op<…>(…);`
struct OpRegistration {
  std::optional<VjpReads> vjp_reads = {};
  std::optional<Form> form = {};
  const OpDef& operator=(OpDef op) const {
    if (vjp_reads) op.vjp_reads = *vjp_reads;
    if (form) op.form = *form;
    return Registry::instance().add(std::move(op));
  }
};
#define TAPEDECK_OP(variable, ...)                                 \
  const ::tapedeck::OpDef& variable = ::tapedeck::OpRegistration { \
    __VA_ARGS__                                                    \
  }

/// Behind its row: `TAPEDECK_FACTS(relu_op) = {.flat = "…"};`
struct FactsRegistration {
  const OpDef& op;
  bool operator=(const OpFacts& facts) const {
    Registry::instance().describe(op, facts);
    return true;
  }
};
#define TAPEDECK_FACTS(variable)                                                               \
  [[maybe_unused]] static const bool variable##_is_described = ::tapedeck::FactsRegistration { \
    variable                                                                                   \
  }

}  // namespace tapedeck
