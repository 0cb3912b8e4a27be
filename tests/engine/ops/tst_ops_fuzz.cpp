// Every op under random calls, good and bad: it answers, or refuses in words.
#include <QtTest>

#include "engine/tape/tape.h"
#include "tests/campaign.h"
#include "tests/engine/ops/random_calls.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

constexpr double can_be_computed = 1e5;    // elements
constexpr double more_than_memory = 1e12;  // bytes

double element_count(const Tensors& tensors) {
  double count = 0;
  for (const Tensor& tensor : tensors) count += static_cast<double>(tensor.count());
  return count;
}

double bytes_of(const TensorSpecs& specs) {
  double bytes = 0;
  for (const TensorSpec& spec : specs) {
    double product = static_cast<double>(item_size(spec.dtype));
    for (const std::int64_t extent : spec.shape) product *= static_cast<double>(extent);
    bytes += product;
  }
  return bytes;
}

/// Whether the work is small, or so large that it must be refused: a sum over a view of 2^45 elements is
/// neither wrong nor soon done.
bool worth_running(const OpDef& op, const Call& call) {
  const bool variadic = !op.inputs.empty() && op.inputs.back().variadic;
  if (call.inputs.size() + variadic < op.inputs.size())
    return true;  // run_op refuses it; shape rules need not
  const Attributes attributes(call.attributes);
  const double bytes = bytes_of(op.shape_rule({op, span_of(call.inputs), attributes, {}}));
  return bytes > more_than_memory ||
         (bytes < 8 * can_be_computed && element_count(call.inputs) < can_be_computed);
}

std::string wrong_outputs(const OpDef& op, const Call& call, const Tensors& outputs) {
  const Attributes attributes(call.attributes);
  const TensorSpecs specs = op.shape_rule({op, span_of(call.inputs), attributes, {}});
  if (!op.shape_of_values && specs.size() != outputs.size())
    return "another number of outputs than announced";
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!op.shape_of_values && (specs[k].shape != outputs[k].shape() || specs[k].dtype != outputs[k].dtype()))
      return "announced " + to_string(specs[k].shape) + ", returned " + to_string(outputs[k].shape());
    for (const std::int64_t extent : outputs[k].shape())
      if (extent < 0) return "a negative extent in " + to_string(outputs[k].shape());
    if (outputs[k].count() < can_be_computed) (void)outputs[k].to_vector();  // every element can be read
  }
  return {};
}

/// The op's VJP takes whatever its forward function took.
std::string wrong_gradients(const OpDef& op, const Call& call) {
  Tape tape;
  tape.start();
  Tensors sources;
  Tensors inputs = call.inputs;
  for (Tensor& input : inputs)
    if (is_differentiable(input.dtype())) {
      input = ops::identity(input);
      tape.watch(input);
      sources.push_back(input);
    }
  const Tensors outputs = run_op(op, span_of(inputs), Attributes(call.attributes));
  tape.stop();
  if (sources.empty() || outputs.empty() || !is_differentiable(outputs[0].dtype())) return {};
  const Tensors gradients = tape.gradient({outputs.data(), 1}, span_of(sources), {}, Unconnected::zero);
  for (std::size_t k = 0; k < sources.size(); ++k)
    if (gradients[k].shape() != sources[k].shape() || gradients[k].dtype() != sources[k].dtype())
      return "the gradient of source " + std::to_string(k) + " has shape " + to_string(gradients[k].shape());
  return {};
}

struct Tally {
  int answered = 0, refused = 0;
};

/// What is wrong with the op's answer to the call, or nothing.
std::string check_call(const OpDef& op, const Call& call, Tally& tally) {
  bool answered = false;
  try {
    const bool asks_values = op.name == "where_indices";  // its shape rule reads them
    if (asks_values && element_count(call.inputs) > can_be_computed) return {};
    if (!worth_running(op, call)) return {};
    const Tensors outputs = run_op(op, span_of(call.inputs), Attributes(call.attributes));
    answered = true;
    ++tally.answered;
    std::string wrong = wrong_outputs(op, call, outputs);
    if (wrong.empty() && op.vjp && element_count(call.inputs) < can_be_computed &&
        element_count(outputs) < can_be_computed)
      wrong = wrong_gradients(op, call);
    return wrong;
  } catch (const Interrupted&) {
    return "was interrupted";
  } catch (const Error& error) {
    // Inverses and what is made of them have no gradient at a singular matrix, nor have factors that are not
    // unique; they say so.
    // A logarithm's gradient is part of one of twice the extent, which may have none where numbers near the
    // ends of the range stand beside each other; it says so, too.
    const std::string_view text = error.what();
    const bool none = dynamic_cast<const UnimplementedError*>(&error) ||
                      text.find(" is singular: ") != std::string_view::npos ||
                      text.find(" has no real logarithm: ") != std::string_view::npos;
    if (answered && !none) return std::string("its gradient threw ") + error.what();
    if (answered) return {};
    ++tally.refused;
    if (std::string_view(error.what()).size() < 10) return std::string("says only ") + error.what();
  } catch (const std::exception& error) {
    return std::string("threw ") + typeid(error).name() + ": " + error.what();
  }
  return {};
}

/// What run_op says of a call that it refuses; empty where it answers.
std::string refusal(const OpDef& op, const Call& call) {
  try {
    if (worth_running(op, call)) (void)run_op(op, span_of(call.inputs), Attributes(call.attributes));
  } catch (const Error&) {
    try {
      (void)run_op(op, span_of(call.inputs), Attributes(call.attributes));
    } catch (const Error& error) {
      return error.what();
    }
  }
  return {};
}

}  // namespace

class OpsFuzzTest : public QObject {
  Q_OBJECT

  /// `check(op, call)` returns what is wrong, or nothing.
  template <class Check>
  void for_random_calls(const Campaign& calls, Check check) {
    std::string failures;
    int failed = 0;
    for (std::size_t i = 0; i < Registry::instance().size() && failed < 20; ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      QVERIFY2(row, op.name.c_str());
      auto random = calls.random<Random>(static_cast<std::uint32_t>(i));
      CallMaker maker(random);
      for (std::uint64_t k = 0; k < calls.count(); ++k) {
        const Call call = maker.make(op, *row);
        const std::string wrong = check(op, call);
        if (wrong.empty()) continue;
        failures += "call " + std::to_string(k) + ": " + description(op, call) + ": " + wrong + "\n";
        ++failed;
        break;
      }
    }
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

 private slots:
  void every_op_answers_or_refuses() {
    const Campaign calls{"ops_fuzz", "random calls of each op", 300, 2'000,
                         "further random calls of each op"};
    std::map<std::string, Tally> tallies;
    for_random_calls(
        calls, [&](const OpDef& op, const Call& call) { return check_call(op, call, tallies[op.name]); });
    // Both must have been tried, or the calls say nothing of the op.
    for (const auto& [name, tally] : tallies) {
      QVERIFY2(tally.answered > 0, name.c_str());
      const OpDef& op = *Registry::instance().find(name);
      if (op.inputs.size() > 1 || !op.attributes.empty())
        QVERIFY2(tally.refused > 0, (name + " refused nothing").c_str());
    }
  }

  void a_refusal_names_the_op() {
    const Campaign calls{"ops_fuzz_refusals", "random calls of each op", 300, 2'000,
                         "further random calls of each op"};
    for_random_calls(calls, [](const OpDef& op, const Call& call) -> std::string {
      if (op.name == "where_indices" && element_count(call.inputs) > can_be_computed) return {};
      const std::string text = refusal(op, call);
      return text.empty() || text.starts_with(op.name + ":") ? std::string() : "says " + text;
    });
  }

  void more_memory_than_there_is_is_refused_with_its_size() {
    const std::vector<std::pair<const char*, Call>> calls = {
        {"zeros", {{}, {list({1'000'000'000'000}), DType::float64}}},
        {"fill", {{Tensor::scalar(1, DType::float64)}, {list({1'000'000, 1'000'000})}}},
        {"tile", {{Tensor::from_values<double>(std::vector<double>{1}, {1})}, {list({1'000'000'000'000})}}},
        {"range", {{}, {std::int64_t{0}, std::int64_t{1'000'000'000'000}, std::int64_t{1}, DType::int64}}},
        {"random_normal",
         {{},
          {list({1'000'000'000'000}), 0.0, 1.0, DType::float64, none(), std::int64_t{1}, std::int64_t{1}}}}};
    for (const auto& [name, call] : calls) {
      const std::string text = refusal(*Registry::instance().find(name), call);
      QVERIFY2(text.find("needs 7.3 TiB, the machine has") != std::string::npos,
               (name + (": " + text)).c_str());
      QVERIFY2(text.starts_with(std::string(name) + ":"), text.c_str());
    }
  }
};

TAPEDECK_TEST(OpsFuzzTest)
#include "tst_ops_fuzz.moc"
