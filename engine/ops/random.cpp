// Random numbers.
#include "engine/cpu/random.h"

#include <map>
#include <mutex>
#include <random>

#include "engine/ops/ops.h"
#include "engine/ops/random_state.h"
#include "engine/ops/rules.h"

namespace tapedeck {

using namespace rules;

namespace {

/// Spreads the bits of a seed (the finaliser of D. Stafford's variant 13 of MurmurHash3): near seeds give far
/// keys.
std::uint64_t spread(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct RandomState {
  std::mutex mutex;
  std::uint64_t seed = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  std::int64_t counter = 0;
  std::map<std::int64_t, std::int64_t> op_counters;

  static RandomState& instance() {
    static RandomState state;
    return state;
  }
};

}  // namespace

void set_random_seed(std::int64_t seed) {
  RandomState& state = RandomState::instance();
  const std::lock_guard lock(state.mutex);
  state.seed = spread(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15ULL);
  state.counter = 0;
  state.op_counters.clear();
}

RandomStretch next_random_stretch(std::optional<std::int64_t> op_seed, std::int64_t blocks) {
  RandomState& state = RandomState::instance();
  const std::lock_guard lock(state.mutex);
  std::int64_t& counter = op_seed ? state.op_counters[*op_seed] : state.counter;
  const std::uint64_t key =
      op_seed ? spread(state.seed ^ spread(static_cast<std::uint64_t>(*op_seed))) : state.seed;
  return {static_cast<std::int64_t>(key), std::exchange(counter, counter + blocks)};
}

namespace {

// Attributes of all random ops: shape, two parameters, dtype, seed, and the stretch.
enum RandomAttribute { shape_, first_, second_, dtype_, seed_, key_, counter_ };

std::vector<AttributeSpec> random_attributes(const char* first, const char* second, double first_default) {
  return {{"shape", AttributeKind::shape, Axes{}, true},
          {first, AttributeKind::real, first_default},
          {second, AttributeKind::real, 1.0},
          {"dtype", AttributeKind::dtype, DType::float32},
          {"seed", AttributeKind::integer, std::monostate{}},
          {"key", AttributeKind::integer, std::monostate{}},
          {"counter", AttributeKind::integer, std::monostate{}}};
}

Attributes resolve_stretch(const OpDef& op, const Attributes& given) {
  if (!given.is_none(key_)) return given;
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < given.size(); ++i) values.push_back(given[i]);
  const auto seed = given.is_none(seed_) ? std::nullopt : std::optional(given.get<std::int64_t>(seed_));
  const Shape shape = shape_attribute({op, {}, given, {}}, given[shape_], "shape");
  const RandomStretch stretch =
      next_random_stretch(seed, element_count(shape) / 2 + 1);  // at least 2 values a block
  values[key_] = stretch.key;
  values[counter_] = stretch.counter;
  return Attributes(std::move(values));
}

TensorSpecs random_rule(const OpContext& c, bool integers) {
  const DType dtype = c.attributes.get<DType>(dtype_);
  if (!is_floating(dtype) && !(integers && is_integer(dtype)))
    fail<TypeMismatchError>(c.op.name, ": dtype is ", dtype_name(dtype), "; it takes ",
                            integers ? "float32, float64, int32 or int64" : "float32 or float64");
  return one(dtype, shape_attribute(c, c.attributes[shape_], "shape"));
}

TensorSpecs uniform_rule(const OpContext& c) {
  const double low = c.attributes.get<double>(first_), high = c.attributes.get<double>(second_);
  if (is_integer(c.attributes.get<DType>(dtype_)) && !(low < high))
    fail<InvalidArgumentError>("random_uniform: minval ", low, " is not below maxval ", high);
  return random_rule(c, true);
}
Tensors uniform_forward(const OpContext& c) {
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  const auto key = static_cast<std::uint64_t>(c.attributes.get<std::int64_t>(key_));
  const auto counter = static_cast<std::uint64_t>(c.attributes.get<std::int64_t>(counter_));
  const double low = c.attributes.get<double>(first_), high = c.attributes.get<double>(second_);
  if (is_floating(out.dtype()))
    cpu::random_uniform(out.dtype(), key, counter, low, high, output(out), out.count());
  else
    cpu::random_integers(out.dtype(), key, counter, static_cast<std::int64_t>(low),
                         static_cast<std::int64_t>(high), output(out), out.count());
  return one_tensor(std::move(out));
}

template <bool truncated>
Tensors normal_forward(const OpContext& c) {
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  cpu::random_normal(out.dtype(), static_cast<std::uint64_t>(c.attributes.get<std::int64_t>(key_)),
                     static_cast<std::uint64_t>(c.attributes.get<std::int64_t>(counter_)),
                     c.attributes.get<double>(first_), c.attributes.get<double>(second_), truncated,
                     output(out), out.count());
  return one_tensor(std::move(out));
}
OpDef normal_op(std::string name, std::vector<std::string> python_names, Forward forward, std::string doc) {
  return {.name = std::move(name),
          .python_names = std::move(python_names),
          .inputs = {},
          .attributes = random_attributes("mean", "stddev", 0.0),
          .shape_rule = [](const OpContext& c) { return random_rule(c, false); },
          .forward = forward,
          .vjp = nullptr,
          .vjp_formula = "none",
          .doc = std::move(doc),
          .resolve = resolve_stretch};
}

#define SEEDS                                                                                               \
  "seed: an int for a stream of its own; None takes the global stream (tf.set_random_seed). key, counter: " \
  "the stretch of "                                                                                         \
  "the generator's stream (Philox 4x32-10), filled in when the op runs."

Tensor run_random(const OpDef& op, const Shape& shape, double first, double second, DType dtype,
                  std::optional<std::int64_t> seed) {
  return run_op(
      op, {},
      {Axes(shape.begin(), shape.end()), first, second, dtype,
       seed ? Attribute(*seed) : Attribute(std::monostate{}), std::monostate{}, std::monostate{}})[0];
}

}  // namespace

TAPEDECK_OP(random_uniform_op) = {.name = "random_uniform",
                                  .python_names = {"random_uniform", "random.uniform"},
                                  .inputs = {},
                                  .attributes = random_attributes("minval", "maxval", 0.0),
                                  .shape_rule = uniform_rule,
                                  .forward = uniform_forward,
                                  .vjp = nullptr,
                                  .vjp_formula = "none",
                                  .doc =
                                      "Uniformly distributed numbers, minval ≤ x < maxval.\n\nshape: "
                                      "extents. dtype: float32, float64, int32 or int64. " SEEDS,
                                  .resolve = resolve_stretch};
Tensor random_uniform(const Shape& shape, double minval, double maxval, DType dtype,
                      std::optional<std::int64_t> seed) {
  return run_random(random_uniform_op, shape, minval, maxval, dtype, seed);
}

TAPEDECK_OP(random_normal_op) = normal_op("random_normal", {"random_normal", "random.normal"},
                                          normal_forward<false>,
                                          "Normally distributed numbers.\n\nshape: extents. mean, stddev: "
                                          "floats. dtype: float32 or float64. " SEEDS);
Tensor random_normal(const Shape& shape, double mean, double stddev, DType dtype,
                     std::optional<std::int64_t> seed) {
  return run_random(random_normal_op, shape, mean, stddev, dtype, seed);
}

TAPEDECK_OP(truncated_normal_op) = normal_op("truncated_normal",
                                             {"truncated_normal", "random.truncated_normal"},
                                             normal_forward<true>,
                                             "Normally distributed numbers; those more than two standard "
                                             "deviations from the mean are drawn again.\n\nshape: extents. "
                                             "mean, stddev: floats. dtype: float32 or float64. " SEEDS);
Tensor truncated_normal(const Shape& shape, double mean, double stddev, DType dtype,
                        std::optional<std::int64_t> seed) {
  return run_random(truncated_normal_op, shape, mean, stddev, dtype, seed);
}

namespace detail {
void link_random() {}
}  // namespace detail

}  // namespace tapedeck
