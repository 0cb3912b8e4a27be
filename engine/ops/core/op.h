// The registry row of an op, and the parameters of its functions.
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
  /// '\0': any dtype, independent of the others.
  char group = 'T';
  /// The argument is a list of tensors (concat). It must be the only input or the last one.
  bool variadic = false;
  /// The dtype of a Python value if no tensor of the group determines it. nullopt: float32 for floats, int32
  /// for ints.
  std::optional<DType> preferred = std::nullopt;
  std::string old_name = {};  ///< TensorFlow 1's name, which Python also accepts
};

enum class AttributeKind : std::uint8_t {
  boolean,
  integer,
  real,
  text,
  dtype,
  integers,  ///< a list; Python may pass a single int
  shape      ///< a list of extents; Python may pass a tuple, a list or an integer tensor
};

struct AttributeSpec {
  std::string name;
  AttributeKind kind;
  /// The default; `required` if the caller must pass it. std::monostate: None is the default and allowed.
  Attribute fallback;
  bool required = false;
  std::string old_name = {};  ///< TensorFlow 1's name, which Python also accepts
};

/// The argument of an op's shape rule and forward function.
struct OpContext {
  const OpDef& op;
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  /// The shape rule's answer; empty while the shape rule itself runs.
  std::span<const TensorSpec> outputs;
  Device device = {};  ///< where the op was placed

  const Attribute& attribute(AttributeName name) const;
  template <class T>
  const T& get(AttributeName name) const {
    return std::get<T>(attribute(name));
  }
  bool is_none(AttributeName name) const { return std::holds_alternative<std::monostate>(attribute(name)); }
};

/// The argument of a VJP: the forward call, and the gradients of its outputs.
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
/// returns the specs of the outputs: none if OpDef::shape_of_values is set. Reads no element.
using ShapeRule = TensorSpecs (*)(const OpContext&);
/// Computes the outputs on the inputs' device; called after the shape rule has passed. Pure: the same inputs
/// and attributes give the same bits, whatever the number of threads.
using Forward = Tensors (*)(const OpContext&);
/// Gradients of the inputs, one per input, undefined if there is none or it is not wanted. Calls ops only,
/// never kernels, so it can be stepped and differentiated again.
using Vjp = Tensors (*)(const VjpContext&);

/// The minimum cost of a call; cost.h has the rules and conventions.
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

/// Which of the forward call's values a VJP reads (tests/engine/ops/tst_vjp_reads.cpp verifies it); dtypes
/// and shapes are always available. A tape releases large values that no VJP will read.
enum class VjpReads : std::uint8_t { shapes, inputs, outputs, everything };

/// How Python gets several outputs: as a tuple, a named one if TensorFlow's is.
struct ResultForm {
  std::vector<std::string> fields = {};  ///< a name for each output: {"q", "r"}
  std::string tuple_name = {};           ///< TensorFlow's name of the named tuple: "Qr"; empty: a plain tuple
  std::string alone_without = {};        ///< an attribute; if it is False, only the first output is returned
};

/// bits: sums and products of the same bits are the same; order: what is greater stays greater.
enum class Uint64Mapping : std::uint8_t { none, bits, order };

/// How an op computes its elements, as far as the tape and the analyses (engine/debug) need it and the row's
/// functions do not show it.
enum class Form : std::uint8_t {
  other,
  sum,     ///< of two tensors: how playback adds up gradients
  matmul,  ///< of the last two axes, with `transpose_a`, `adjoint_a` and the like
  einsum,
  convolution,            ///< of images with filters [rows, columns, channels, results]
  depthwise_convolution,  ///< the last extent of its filters: results per channel
  reduction,              ///< over the axes that its attribute `axis` names
  gather,                 ///< of slices
  drawn,                  ///< random numbers, different ones in another dtype
  bits,                   ///< its dtype determines how bits are read
};

struct OpDef {
  std::string name;  ///< the op's unique name in records and errors, TensorFlow's: "matmul"
  std::vector<std::string> python_names;  ///< under `tf.`: {"matmul", "linalg.matmul"}; empty: not public
  std::vector<InputSpec> inputs;
  std::vector<AttributeSpec> attributes;
  ShapeRule shape_rule = nullptr;
  Forward forward = nullptr;
  Form form = Form::other;
  VjpReads vjp_reads = VjpReads::everything;
  Vjp vjp = nullptr;        ///< nullptr: not differentiable (comparisons, argmax, random)
  std::string vjp_formula;  ///< for the inspector: "dA = dC·Bᵀ, dB = Aᵀ·dC"; "none" if vjp is nullptr
  CostRule cost = nullptr;  ///< nullptr: one operation for each element of the largest operand
  std::string doc;  ///< first line: what it does; then shapes, dtypes, errors; formulas with their source
  /// Arguments in Python's order if that is not "inputs, then attributes": names of both, and `name` if
  /// TensorFlow has it in between.
  std::vector<std::string> python_order = {};
  /// TensorFlow's arguments that do not affect results: accepted at the position of its `name`.
  std::vector<std::string> python_hints = {};
  /// The forward function accepts dtypes without kernels directly: it moves elements, or converts them
  /// itself. Other ops get such inputs widened, and their results are rounded back.
  bool takes_narrow = false;
  /// The same only for float16 and bfloat16, on devices that multiply them (Backend::multiplies_halves).
  bool half_products = false;
  /// The forward function accepts string, uint64 and complex tensors directly, as far as the shape rule
  /// allows. If neither this nor takes_narrow is set, run_op rejects them.
  bool takes_others = false;
  /// The VJP is already valid for complex numbers, in the convention of elementwise/complex.h; needed for
  /// functions without a complex derivative. Other VJPs are written for real numbers, and run_vjp conjugates
  /// around them.
  bool complex_vjp = false;
  /// How int64 kernels compute uint64 if the forward function does not accept it.
  Uint64Mapping uint64_mapping = Uint64Mapping::none;
  /// Out-of-range results are clamped to the dtype's range instead of wrapping around or becoming infinite:
  /// extremes of an empty axis.
  bool saturates = false;
  /// Every op with several outputs sets this or returns_list. A single output is returned directly: svd's s.
  ResultForm results = {};
  bool stops_gradient = false;  ///< gradients end here by intention
  bool updates = false;         ///< an optimiser's step: the first result is the variable's new value
  bool gpu_kernel = true;     ///< false: run_op runs the call on the CPU, with recorded copies there and back
  bool immediates = false;    ///< on a GPU its kernels take host scalars by value
  bool returns_list = false;  ///< Python gets a list even for one output (split, unstack)
  /// The shapes of the results depend on values: the shape rule only checks and returns no specs, and the
  /// forward function decides. Inputs of such a row are never widened: it sets takes_narrow, or accepts no
  /// narrow dtype.
  bool shape_of_values = false;
  OpFacts facts = {};
  int index = -1;                                  ///< position in the registry; set by it
  std::vector<std::uint32_t> attribute_keys = {};  ///< of the attributes' names; set by the registry

  /// The index of the attribute in a call's attributes; nullopt for a name that the row lacks.
  std::optional<std::size_t> find_place(AttributeName attribute) const {
    for (std::size_t i = 0; i < attribute_keys.size(); ++i)
      if (attribute_keys[i] == attribute.key()) return i;
    return std::nullopt;
  }
  bool has(AttributeName attribute) const { return find_place(attribute).has_value(); }
  /// The same for a row that must have it; throws std::logic_error otherwise.
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
  /// Called once per op at program start (see TAPEDECK_OP). Aborts on a duplicate name.
  const OpDef& add(OpDef op);
  /// Also called at program start.
  void describe(const OpDef& op, const OpFacts& facts);
  const OpDef* find(std::string_view name) const;
  const OpDef& at(int index) const;
  std::size_t size() const;

 private:
  Registry() = default;
};

/// Ends an op's section: `TAPEDECK_OP(matmul_op) = { .name = "matmul", … };`
/// defines `const OpDef& matmul_op` and registers it. For a row made by a function, pass what its VJP reads,
/// and its form, as further arguments: `TAPEDECK_OP(exp_op, VjpReads::outputs) = unary_op<…>(…);`
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

/// To be placed after its row: `TAPEDECK_FACTS(relu_op) = {.flat = "…"};`
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
