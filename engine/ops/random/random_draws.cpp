// Draws that depend on tensors: orders, classes, gamma numbers. Pure ops: see random_state.h.
#include <cmath>
#include <numeric>

#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/random/random_state.h"
#include "engine/ops/reductions/reduction_row.h"

namespace tapedeck::ops {
namespace {

/// The attributes, followed by those common to all draws.
std::vector<AttributeSpec> with_seed(std::vector<AttributeSpec> specs) {
  for (const char* name : {"seed", "key", "counter"})
    specs.push_back({.name = name, .kind = AttributeKind::integer, .fallback = std::monostate{}});
  return specs;
}

/// The position in the stream.
kernels::StreamPlace place_of(const OpContext& c) {
  if (c.is_none("key") || c.is_none("counter"))
    fail<InvalidArgumentError>(c.op.name,
                               ": key and counter are None; resolve_random() sets them from the seed");
  return {static_cast<std::uint64_t>(c.get<std::int64_t>("key")),
          static_cast<std::uint64_t>(c.get<std::int64_t>("counter"))};
}

using kernels::Binary;

Tensor in_float64(const Tensor& tensor) {
  const Tensor source = contiguous(tensor);
  if (source.dtype() == DType::float64) return source;
  Tensor out = Tensor::allocate(DType::float64, source.shape());
  backend().cast(source.dtype(), DType::float64, operand(source, source.shape()),
                 out.writable_data<std::byte>(), source.shape());
  return out;
}

// Flags, element by element.
Tensor compared(Binary comparison, const Tensor& values, double limit) {
  return run_binary(comparison, values, Tensor::scalar(limit, values.dtype()),
                    {DType::bool_, values.shape()});
}
Tensor both(const Tensor& a, const Tensor& b) {
  return run_binary(Binary::logical_and, a, b, {DType::bool_, a.shape()});
}
Tensor flags_of(kernels::Unary function, const Tensor& values) {
  Tensor flags = Tensor::allocate(DType::bool_, values.shape());
  backend().unary(function, values.dtype(), values.raw(), flags.writable_data<std::byte>(), values.count());
  return flags;
}
Tensor finite_and_not_negative(const Tensor& values) {
  return both(compared(Binary::greater_equal, values, 0), flags_of(kernels::Unary::is_finite, values));
}

/// The requirement on the values of a parameter.
struct Requirement {
  bool (*holds)(double value);
  Tensor (*holds_on_device)(const Tensor& values);  ///< the same as flags
  const char* whose;
  const char* needs;
};

/// Throws InvalidArgumentError, such as "random_gamma: alpha holds -1; needs finite numbers above 0"; for
/// values on a GPU, which the message does not contain, at the host's next read from it.
void require_all(const Tensor& values, const Requirement& requirement) {
  if (!values.on_cpu()) {
    const Tensor broken = flags_of(kernels::Unary::logical_not, requirement.holds_on_device(values));
    backend().any(broken.data<bool>(), broken.count(),
                  std::string(requirement.whose) + " holds another number" + requirement.needs);
    return;
  }
  for (std::int64_t i = 0; i < values.count(); ++i)
    if (const double value = values.data<double>()[i]; !requirement.holds(value))
      fail<InvalidArgumentError>(requirement.whose, " holds ", value, requirement.needs);
}

constexpr const char* stream_doc =
    "\nThe numbers come from Philox 4x32-10 at (key, counter), which are resolved from the seed before the "
    "op "
    "runs; see random_uniform.";

}  // namespace

extern const OpDef& dropout_op;  // which its own VJP runs

// ---- random_shuffle ----
TAPEDECK_OP(random_shuffle_op) = {
    .name = "random_shuffle",
    .python_names = {"random.shuffle", "random_shuffle"},
    .inputs = {{.name = "value"}},
    .attributes = with_seed({}),
    .shape_rule =
        [](const OpContext& c) {
          place_of(c);
          if (c.inputs[0].rank() == 0) fail<InvalidArgumentError>("random_shuffle: value is a scalar");
          if (c.inputs[0].dim(0) > std::numeric_limits<std::int32_t>::max())
            fail<InvalidArgumentError>("random_shuffle: value has ", c.inputs[0].dim(0),
                                       " slices; their places do not fit in int32");
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          if (out.count() == 0) return one(std::move(out));
          const std::int64_t rows = out.dim(0);
          using Key = std::numeric_limits<std::int64_t>;
          const Tensor keys = Tensor::allocate(DType::int64, {rows});
          backend().random_integers(DType::int64, place_of(c), Key::min(), Key::max(),
                                    keys.writable_data<std::byte>(), rows);
          const Tensor positions = Tensor::allocate(DType::int32, {rows});
          backend().argsort_rows(false, DType::int64, keys.raw(), 1, rows,
                                 positions.writable_data<std::int32_t>());
          const Tensor order = cast_integers(positions, DType::int64);
          const Tensor value = contiguous(c.inputs[0]);
          backend().gather_rows(value.raw(), 1, rows, order.data<std::int64_t>(), rows,
                                out.bytes() / static_cast<std::size_t>(rows), out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::moves,
    .doc = std::string("The slices of the first axis in random order, each order equally likely: each gets a "
                       "random key of 64 bits, by which they are sorted.\n\n"
                       "value: any dtype, at least one axis; seed: whole number or None.\n"
                       "Returns: the dtype and shape of value.\n"
                       "Errors: InvalidArgumentError for a scalar, and for more than 2³¹ − 1 slices.") +
           stream_doc,
    .takes_narrow = true,
};

// ---- dropout ----
TAPEDECK_OP(dropout_op) = {
    .name = "dropout",
    .python_names = {},
    .inputs = {{.name = "x"}},
    .attributes =
        with_seed({{.name = "rate", .kind = AttributeKind::real, .fallback = {}, .required = true}}),
    .shape_rule =
        [](const OpContext& c) {
          place_of(c);
          require_kind(c, 0, Kind::floating);
          const double rate = real_of(c.attribute("rate"));
          if (!(rate >= 0 && rate < 1))
            fail<InvalidArgumentError>("dropout: rate is ", rate, "; must be in [0, 1)");
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor x = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          backend().random_dropout(x.dtype(), place_of(c), real_of(c.attribute("rate")), x.raw(),
                                   out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(run_op1(dropout_op, {c.cotangents[0]}, c.attributes)); },
    .vjp_formula = "dx = dropout(dz) by the same choices",
    .doc = std::string(
               "Sets each element to 0 with probability `rate`, and divides the others by 1 − rate "
               "(Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov 2014).\n\n"
               "x: any floating dtype, any shape; rate: in [0, 1); seed: whole number or None.\n"
               "Returns: the dtype and shape of x.\n"
               "Errors: InvalidArgumentError for another rate; TypeMismatchError for another dtype.") +
           stream_doc,
};

// ---- random_categorical ----
TAPEDECK_OP(random_categorical_op) = {
    .name = "random_categorical",
    .python_names = {"random.categorical"},
    .inputs = {{.name = "logits", .preferred = DType::float32}},
    .attributes =
        with_seed({{.name = "num_samples", .kind = AttributeKind::integer, .fallback = {}, .required = true},
                   {.name = "dtype", .kind = AttributeKind::dtype, .fallback = DType::int64}}),
    .shape_rule =
        [](const OpContext& c) {
          place_of(c);
          require_kind(c, 0, Kind::floating);
          const Shape& logits = c.inputs[0].shape();
          const std::int64_t samples = integer_of(c, "num_samples");
          const DType dtype = index_dtype_of<TypeMismatchError>(c, "dtype");
          if (logits.rank() != 2 || (logits[1] == 0 && logits[0] > 0))
            fail<InvalidArgumentError>("random_categorical: logits has shape ", to_string(logits),
                                       "; needs (batch, classes) with at least one class");
          if (samples < 0) fail<InvalidArgumentError>("random_categorical: num_samples is ", samples);
          return spec(dtype, {logits[0], samples});
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor logits = contiguous(c.inputs[0]);
          const std::int64_t bad =
              backend().random_classes(logits.dtype(), logits.raw(), logits.dim(0), logits.dim(1),
                                       place_of(c), out.dtype(), out.writable_data<std::byte>(), out.dim(1));
          if (bad >= 0)
            fail<InvalidArgumentError>("random_categorical: row ", bad,
                                       " of logits has no finite value, or NaN or +∞");
          return one(std::move(out));
        },
    .form = Form::drawn,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc = std::string(
               "Numbers of classes, class k of row b with probability softmax(logits[b])[k].\n\n"
               "logits: any floating dtype, (batch, classes); −∞ is a class that is never drawn; "
               "num_samples: how many of each row; dtype: int32 or int64; seed: whole number or "
               "None.\n"
               "Returns: dtype, (batch, num_samples).\n"
               "Errors: InvalidArgumentError for another shape, a negative num_samples, or a row with "
               "NaN, +∞ or −∞ everywhere; TypeMismatchError for other dtypes.") +
           stream_doc,
    .gpu_kernel = false,
};

// ---- random_gamma ----
TAPEDECK_OP(random_gamma_op) = {
    .name = "random_gamma",
    .python_names = {},  // tf.random.gamma divides by beta
    .inputs = {{.name = "alpha", .preferred = DType::float32}},
    .attributes =
        with_seed({{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true}}),
    .shape_rule =
        [](const OpContext& c) {
          place_of(c);
          require_kind(c, 0, Kind::floating);
          Shape shape = shape_of(c, "shape");
          for (const std::int64_t extent : c.inputs[0].shape()) shape.push_back(extent);
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor alpha = contiguous(c.inputs[0]);
          require_all(in_float64(alpha),
                      {.holds = [](double value) { return value > 0 && !std::isinf(value); },
                       .holds_on_device =
                           [](const Tensor& values) {
                             return both(compared(Binary::greater, values, 0),
                                         flags_of(kernels::Unary::is_finite, values));
                           },
                       .whose = "random_gamma: alpha",
                       .needs = "; needs finite numbers above 0"});
          backend().random_gamma(alpha.dtype(), alpha.raw(), alpha.count(), place_of(c),
                                 out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .form = Form::drawn,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& alpha = c.inputs[0];
          const Tensor& sample = c.outputs[0];
          const Tensor gradient = c.cotangents[0] * random_gamma_grad(alpha, sample);
          Integers drawn(static_cast<std::size_t>(sample.rank() - alpha.rank()));
          std::iota(drawn.begin(), drawn.end(), 0);
          return one(drawn.empty() ? gradient : reduce_sum(gradient, drawn));
        },
    .vjp_formula = "d(alpha) = Σ dz·random_gamma_grad(alpha, z) over the axes of shape",
    .doc = std::string("Random numbers of the gamma distribution with shape parameter alpha and scale 1.\n\n"
                       "alpha: any floating dtype, above 0; shape: how many for each alpha; seed: whole "
                       "number or None.\n"
                       "Returns: the dtype of alpha, shape + the shape of alpha. By Marsaglia and Tsang's "
                       "method (\"A simple method for generating gamma variables\", ACM Transactions on "
                       "Mathematical Software 26, 2000). The gradient is the implicit one: see "
                       "random_gamma_grad.\n"
                       "Errors: InvalidArgumentError for an alpha that is not above 0, or a negative extent; "
                       "TypeMismatchError for another dtype.") +
           stream_doc,
    .gpu_kernel = false,
};

// ---- random_poisson ----
TAPEDECK_OP(random_poisson_op) = {
    .name = "random_poisson",
    .python_names = {"random.poisson"},
    .inputs = {{.name = "lam", .preferred = DType::float32}},
    .attributes =
        with_seed({{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true},
                   {.name = "dtype", .kind = AttributeKind::dtype, .fallback = DType::float32}}),
    .shape_rule =
        [](const OpContext& c) {
          place_of(c);
          require_kind(c, 0, Kind::numeric);
          const DType dtype = c.get<DType>("dtype");
          if (dtype == DType::bool_)
            fail<TypeMismatchError>("random_poisson: dtype is bool; needs a numeric dtype");
          Shape shape = shape_of(c, "shape");
          for (const std::int64_t extent : c.inputs[0].shape()) shape.push_back(extent);
          return spec(dtype, shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor lam = in_float64(c.inputs[0]);
          require_all(lam, {.holds = [](double value) { return value >= 0 && !std::isinf(value); },
                            .holds_on_device = finite_and_not_negative,
                            .whose = "random_poisson: lam",
                            .needs = "; needs finite numbers of at least 0"});
          backend().random_poisson(lam.data<double>(), lam.count(), place_of(c), out.dtype(),
                                   out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .form = Form::drawn,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc = std::string(
               "Random whole numbers of the Poisson distribution with mean lam.\n\n"
               "lam: any numeric dtype, at least 0; shape: how many for each lam; dtype: of the result, "
               "any numeric one; seed: whole number or None.\n"
               "Returns: dtype, shape + the shape of lam; numbers cut to the dtype's range. For lam below "
               "10 by summing probabilities up, else by Hörmann's transformed rejection (\"The "
               "transformed rejection method for generating Poisson random variables\", Insurance: "
               "Mathematics and Economics 12, 1993).\n"
               "Errors: InvalidArgumentError for a lam below 0 or not finite, or a negative extent; "
               "TypeMismatchError for bool.") +
           stream_doc,
    .python_order = {"shape", "lam", "dtype", "seed"},
    .saturates = true,
    .gpu_kernel = false,
};

// ---- random_binomial ----
TAPEDECK_OP(random_binomial_op) = {
    .name = "random_binomial",
    .python_names = {},  // tf.random.stateless_binomial has a shape
    .inputs = {{.name = "counts", .group = '\0'},
               {.name = "probs", .group = '\0', .preferred = DType::float32}},
    .attributes = with_seed({{.name = "dtype", .kind = AttributeKind::dtype, .fallback = DType::int32}}),
    .shape_rule =
        [](const OpContext& c) {
          place_of(c);
          require_kind(c, 0, Kind::numeric);
          require_kind(c, 1, Kind::floating);
          const DType dtype = c.get<DType>("dtype");
          if (dtype == DType::bool_)
            fail<TypeMismatchError>("random_binomial: dtype is bool; needs a numeric dtype");
          if (c.inputs[0].shape() != c.inputs[1].shape())
            fail<InvalidArgumentError>("random_binomial: counts ", to_string(c.inputs[0].shape()),
                                       " and probs ", to_string(c.inputs[1].shape()),
                                       "; needs one shape for both");
          return spec(dtype, c.inputs[0].shape());
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor counts = in_float64(c.inputs[0]);
          const Tensor probs = in_float64(c.inputs[1]);
          require_all(counts, {.holds =
                                   [](double value) {
                                     return value >= 0 && !std::isinf(value) && value == std::floor(value);
                                   },
                               .holds_on_device =
                                   [](const Tensor& values) {
                                     const Tensor rounded = Tensor::allocate(values.dtype(), values.shape());
                                     backend().unary(kernels::Unary::floor, values.dtype(), values.raw(),
                                                     rounded.writable_data<std::byte>(), values.count());
                                     return both(finite_and_not_negative(values),
                                                 run_binary(Binary::equal, values, rounded,
                                                            {DType::bool_, values.shape()}));
                                   },
                               .whose = "random_binomial: counts",
                               .needs = "; needs whole numbers of at least 0"});
          require_all(probs, {.holds = [](double value) { return value >= 0 && value <= 1; },
                              .holds_on_device =
                                  [](const Tensor& values) {
                                    return both(compared(Binary::greater_equal, values, 0),
                                                compared(Binary::less_equal, values, 1));
                                  },
                              .whose = "random_binomial: probs",
                              .needs = "; must be in [0, 1]"});
          backend().random_binomial(counts.data<double>(), probs.data<double>(), place_of(c), out.dtype(),
                                    out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .form = Form::drawn,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        std::string(
            "Random integers from the binomial distribution: the number of successes in a number of "
            "draws.\n\n"
            "counts: how many draws, whole numbers of any numeric dtype; probs: the probability of each, any "
            "floating dtype, the shape of counts; dtype: of the result, any numeric one; seed: whole number "
            "or None.\n"
            "Returns: dtype, the shape of counts; numbers cut to the dtype's range. For a mean below 10 by "
            "summing probabilities up, else by Hörmann's transformed rejection (\"The generation of binomial "
            "random variates\", Journal of Statistical Computation and Simulation 46, 1993).\n"
            "Errors: InvalidArgumentError for counts that are below 0 or not whole, probs outside [0, 1] and "
            "different shapes; TypeMismatchError for bool.") +
        stream_doc,
    .saturates = true,
    .gpu_kernel = false,
};

}  // namespace tapedeck::ops
