// What tapes keep for VJPs: every op's row must say what its VJP reads, and no more.
#include <QtTest>
#include <cstring>

#include "engine/ops/core/observer.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/engine/same_bits.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

/// Tensors of the same dtypes and shapes, with none of the values: NaN where there is one.
Tensors with_other_values(const Tensors& tensors) {
  Tensors others;
  for (const Tensor& tensor : tensors)
    if (tensor.dtype() == DType::bool_)
      others.push_back(ops::logical_not(tensor));
    else if (is_differentiable(tensor.dtype()))
      others.push_back(ops::cast(ops::fill(tensor.shape(), Tensor::scalar(std::nan(""))), tensor.dtype()));
    else
      others.push_back(ops::zeros_like(tensor));
  return others;
}

Tensors without_values(const Tensors& tensors) {
  Tensors others;
  for (const Tensor& tensor : tensors) others.push_back(tensor.without_values());
  return others;
}

bool is_real(const Tensor& tensor) {
  return is_differentiable(tensor.dtype());
}

/// One call of an op's VJP, whatever its inputs and outputs are now.
struct VjpCall {
  const OpDef& op;
  Attributes attributes;
  Tensors inputs, outputs, cotangents = {};

  VjpCall(const OpDef& definition, const Call& call, Random& random)
      : op(definition),
        attributes(call.attributes),
        inputs(call.inputs),
        outputs(run_call(definition, call)) {
    for (const Tensor& output : outputs)
      cotangents.push_back(is_real(output) ? ops::cast(random_tensor(random, output.shape()), output.dtype())
                                           : Tensor());
  }

  bool has_gradients() const {
    return std::any_of(inputs.begin(), inputs.end(), is_real) &&
           std::any_of(outputs.begin(), outputs.end(), is_real);
  }
  Tensors operator()(const Tensors& its_inputs, const Tensors& its_outputs) const {
    const auto wanted = std::make_unique<bool[]>(inputs.size());
    std::transform(inputs.begin(), inputs.end(), wanted.get(), is_real);
    return op.vjp({op,
                   span_of(its_inputs),
                   attributes,
                   span_of(its_outputs),
                   span_of(cotangents),
                   {wanted.get(), inputs.size()}});
  }
  /// The call itself, and those where one of several outputs alone has a cotangent.
  std::vector<VjpCall> with_some_cotangents() const {
    std::vector<VjpCall> calls = {*this};
    for (std::size_t k = 0; k < cotangents.size() && cotangents.size() > 1; ++k)
      if (cotangents[k]) {
        calls.push_back(*this);
        for (std::size_t i = 0; i < cotangents.size(); ++i)
          if (i != k) calls.back().cotangents[i] = Tensor();
      }
    return calls;
  }
  /// Whether the gradients, or whether there are any, depend on these values.
  bool read(const Tensors& its_inputs, const Tensors& its_outputs) const {
    const Tensors expected = (*this)(inputs, outputs);
    try {
      return !same_bits((*this)(its_inputs, its_outputs), expected);
    } catch (const std::exception&) {
      return true;
    }
  }
};

/// Ends what hands an op a tensor that lost its values.
class NoLostValues : public Observer {
 public:
  NoLostValues() { set_observer(this); }
  ~NoLostValues() override { set_observer(nullptr); }

  std::uint64_t begin(const Event& event) override {
    for (const Tensor& input : event.inputs)
      if (input && !input.storage() && input.count() > 0)
        fail<InvalidArgumentError>(event.name, " got a tensor without values");
    return 1;
  }
  void end(std::uint64_t, std::span<const Tensor>, const char*) override {}
  void leaf(const Tensor&, std::string_view) override {}
  void assigned(const Tensor&, const Tensor&, std::uint64_t, std::uint64_t) override {}
  void left(const Tensor&) override {}
};

VjpReads reads_of(bool inputs, bool outputs) {
  if (inputs) return outputs ? VjpReads::everything : VjpReads::inputs;
  return outputs ? VjpReads::outputs : VjpReads::shapes;
}

const char* text_of(VjpReads reads) {
  static constexpr const char* texts[] = {"shapes", "inputs", "outputs", "everything"};
  return texts[static_cast<int>(reads)];
}

}  // namespace

class VjpReadsTest : public QObject {
  Q_OBJECT

  /// `check(op, calls)` returns what is wrong, or nothing.
  template <class Check>
  void for_differentiable_ops(Check check) {
    std::string failures;
    for (const Row& row : all_rows()) {
      const OpDef* op = Registry::instance().find(row.op);
      if (!op || !op->vjp) continue;
      Random random(7);
      std::vector<VjpCall> calls;
      const auto add = [&](const Call& made) {
        if (const VjpCall call(*op, made, random); call.has_gradients())
          for (const VjpCall& each : call.with_some_cotangents()) calls.push_back(each);
      };
      for (const MakeCall& make : row.calls) {
        const Call made = make(random);
        add(made);
        for (const Call& other : complex_calls(row, made, random))
          if (takes(*op, other)) add(other);
      }
      const std::string wrong = calls.empty() ? "no call has gradients" : check(*op, calls);
      if (!wrong.empty()) failures += op->name + ": " + wrong + "\n";
    }
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

 private slots:
  void the_rows_say_what_the_gradients_depend_on() {
    for_differentiable_ops([](const OpDef& op, const std::vector<VjpCall>& calls) -> std::string {
      bool inputs = false, outputs = false;
      for (const VjpCall& call : calls) {
        inputs = inputs || call.read(with_other_values(call.inputs), call.outputs);
        outputs = outputs || call.read(call.inputs, with_other_values(call.outputs));
      }
      const VjpReads reads = reads_of(inputs, outputs);
      return reads == op.vjp_reads
                 ? std::string()
                 : std::string("its VJP reads ") + text_of(reads) + ", its row says " + text_of(op.vjp_reads);
    });
  }

  void vjps_hand_nothing_to_ops_that_a_tape_let_go() {
    for_differentiable_ops([](const OpDef& op, const std::vector<VjpCall>& calls) -> std::string {
      const bool inputs = op.vjp_reads == VjpReads::everything || op.vjp_reads == VjpReads::inputs;
      const bool outputs = op.vjp_reads == VjpReads::everything || op.vjp_reads == VjpReads::outputs;
      for (const VjpCall& call : calls) try {
          const NoLostValues observer;
          call(inputs ? call.inputs : without_values(call.inputs),
               outputs ? call.outputs : without_values(call.outputs));
        } catch (const std::exception& error) {
          return error.what();
        }
      return {};
    });
  }
};

TAPEDECK_TEST(VjpReadsTest)
#include "tst_vjp_reads.moc"
