// One element of a VJP's contribution as the terms of its formula: what they are called, which of many come,
// and that they sum up, for every op of the registry.
#include <QtTest>

#include "engine/debug/tile.h"
#include "engine/ops/neural/neural.h"
#include "engine/protocol/formula.h"
#include "tests/engine/debug/vjp_reading.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;
using protocol::ElementTerms;
using protocol::VjpContribution;
using protocol::VjpParts;

namespace {

double sum_of(const ElementTerms& terms) {
  double sum = terms.rest;
  for (const auto& term : terms.terms) sum += term.value;
  return sum;
}

}  // namespace

class TestVjpElements : public QObject {
  Q_OBJECT
 private slots:
  void what_a_custom_gradient_adds_by_itself_is_told() {
    Reading reading;
    const Tensor x = numbers({3, 4}, {2}), noise = numbers({0.25, 0.5}, {2});
    const auto noisy = [&](std::span<const Tensor> inputs) {
      return custom_gradient("noisy", inputs, [&] {
        return CustomResult{
            {ops::square(inputs[0])}, [=, v = inputs[0]](std::span<const Tensor> g) -> Tensors {
              return {ops::add(ops::multiply(g[0], ops::multiply(v, numbers({2}, {}))), noise)};
            }};
      });
    };
    play(noisy, {x}, {numbers({1, 10}, {2})});
    const ElementTerms terms = reading.explain(reading.vjp_of("noisy"), 0, 1);
    QCOMPARE(terms.value, 80.5);
    QCOMPARE(terms.terms.size(), std::size_t{1});
    QCOMPARE(terms.terms[0].value, 80.0);
    QCOMPARE(terms.remark,
             std::string("0.5 of it is not a multiple of the cotangent: this gradient adds it, or is "
                         "not a linear function of the cotangent."));
  }

  /// z is x, so ∂z/∂x is 1, whatever its author multiplies with.
  void the_factor_of_a_custom_gradient_is_not_called_the_derivative_of_its_function() {
    Reading reading;
    const Tensor x = numbers({3, 4}, {2});
    const auto doubled = [](std::span<const Tensor> inputs) {
      return custom_gradient("doubled", inputs, [&] {
        return CustomResult{
            {ops::multiply(inputs[0], numbers({1}, {}))},
            [](std::span<const Tensor> g) -> Tensors { return {ops::multiply(g[0], numbers({2}, {}))}; }};
      });
    };
    play(doubled, {x}, {numbers({1, 10}, {2})});
    const ElementTerms terms = reading.explain(reading.vjp_of("doubled"), 0, 1);
    QCOMPARE(texts(terms), std::string("dx[1] = dz[1]·(∂dx[1] / ∂dz[1]) | dz[1]·(∂dx[1] / ∂dz[1]) = 10·2"));
    protocol::parse_expression(terms.formula, terms.names);
  }

  /// 0 times a slope that is no finite number, as behind a where(): not "= 0", which it is not.
  void a_term_of_nothing_times_what_is_not_finite_is_there() {
    Reading reading;
    const Tensor x = numbers({0, -0.5, 4, 9}, {4});
    play([](auto in) { return Tensors{ops::sqrt(in[0])}; }, {x}, {numbers({0, 0, 1, 0}, {4})});
    const std::uint32_t vjp = reading.vjp_of("sqrt");
    for (const std::uint64_t element : {0, 1}) {
      const ElementTerms terms = reading.explain(vjp, 0, element);
      QVERIFY(std::isnan(terms.value));
      QCOMPARE(terms.terms.size(), std::size_t{1});
      QCOMPARE(terms.terms[0].element, element);
      QVERIFY(std::isnan(terms.terms[0].value));
    }
    QCOMPARE(texts(reading.explain(vjp, 0, 0)),
             std::string("dx[0] = dz[0]·½ / √x[0] | dz[0]·½ / √x[0] = 0·½ / √0"));
    QCOMPARE(sum_of(reading.explain(vjp, 0, 2)), 0.25);
    QCOMPARE(sum_of(reading.explain(vjp, 0, 3)), 0.0);
  }

  /// A cotangent that is NaN makes an element NaN also by a factor of 0, but only one that it belongs to.
  void a_term_of_nan_times_zero_is_there() {
    Reading reading;
    const double nan = std::nan("");
    const Tensor x = numbers({0, 2, 3}, {3}), y = numbers({5}, {});
    play([](auto in) { return Tensors{ops::multiply(in[0], in[1])}; }, {x, y}, {numbers({nan, 1, 1}, {3})});
    const ElementTerms terms = reading.explain(reading.vjp_of("multiply"), 1, 0);
    QVERIFY(std::isnan(terms.value));
    QCOMPARE(texts(terms),
             std::string("dy = Σₖ dz[k]·x[k] | dz[0]·x[0] = NaN·0 | dz[2]·x[2] = 1·3 | dz[1]·x[1] = 1·2"));
    QVERIFY(std::isnan(sum_of(terms)));
    const Tensor a = numbers({1, 2, 3, 4}, {2, 2}), b = numbers({0, 1, 1, 1}, {2, 2});
    play([](auto in) { return Tensors{ops::matmul(in[0], in[1])}; }, {a, b},
         {numbers({nan, 1, 1, 1}, {2, 2})});
    QVERIFY(std::isnan(sum_of(reading.explain(reading.vjp_of("matmul"), 0, 0))));
    QCOMPARE(sum_of(reading.explain(reading.vjp_of("matmul"), 0, 2)), 1.0);
  }

  /// The window writes the same number beside it, and rounds halves up.
  void a_number_halfway_between_two_is_rounded_as_the_window_rounds_it() {
    Reading reading;
    const Tensor x = numbers({1}, {1}), y = numbers({0.015625}, {1});
    play([](auto in) { return Tensors{ops::multiply(in[0], in[1])}; }, {x, y});
    const ElementTerms terms = reading.explain(reading.vjp_of("multiply"), 0, 0);
    QCOMPARE(terms.terms.at(0).numbers, std::string("1·0.01563"));
  }

  void terms_are_named_by_the_formula() {
    struct Case {
      std::function<Tensors(std::span<const Tensor>)> f;
      Tensors inputs, weights;
      const char* op;
      std::uint32_t input;
      std::uint64_t element;
      std::string text;
    };
    using In = std::span<const Tensor>;
    const Tensor a = numbers({1, 2, 3, 4, 5, 6}, {2, 3}), b = numbers({1, 0.5, -1, 2, 4, 3}, {3, 2});
    const Tensor w = numbers({1, -2, 3, 4}, {2, 2}), row = numbers({1, -2, 3}, {3});
    const Tensor w23 = numbers({1, 2, 3, 4, 5, 6}, {2, 3}), w2 = numbers({0.5, 4}, {2});
    const Tensor ids = Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{1, 0, 1}, {3});
    const std::vector<Case> cases = {
        {[](In x) { return Tensors{ops::matmul(x[0], x[1])}; },
         {a, b},
         {w},
         "matmul",
         0,
         4,
         "dA[1,1] = Σₖ dC[1,k]·B[1,k] | dC[1,1]·B[1,1] = 4·2 | dC[1,0]·B[1,0] = 3·(−1)"},
        {[](In x) { return Tensors{ops::matmul(x[0], x[1])}; },
         {a, b},
         {w},
         "matmul",
         1,
         3,
         "dB[1,1] = Σₖ dC[k,1]·A[k,1] | dC[1,1]·A[1,1] = 4·5 | dC[0,1]·A[0,1] = (−2)·2"},
        {[](In x) { return Tensors{ops::multiply(x[0], x[1])}; },
         {a, row},
         {w23},
         "multiply",
         0,
         5,
         "dx[1,2] = dz[1,2]·y[2] | dz[1,2]·y[2] = 6·3"},
        {[](In x) { return Tensors{ops::multiply(x[0], x[1])}; },
         {a, row},
         {w23},
         "multiply",
         1,
         2,
         "dy[2] = Σₖ dz[k,2]·x[k,2] | dz[1,2]·x[1,2] = 6·6 | dz[0,2]·x[0,2] = 3·3"},
        {[](In x) { return Tensors{ops::relu(x[0])}; },
         {row},
         {row},
         "relu",
         0,
         2,
         "dx[2] = dz[2] where x[2] > 0, else 0 | dz[2] where x[2] > 0, else 0 = 3 where 3 > 0, else 0"},
        {[](In x) { return Tensors{ops::relu(x[0])}; },
         {row},
         {row},
         "relu",
         0,
         1,
         "dx[1] = dz[1] where x[1] > 0, else 0 | dz[1] where x[1] > 0, else 0 = (−2) where (−2) > 0, else 0"},
        {[](In x) { return Tensors{ops::divide(x[0], x[1])}; },
         {a, row},
         {w23},
         "divide",
         0,
         1,
         "dx[0,1] = dz[0,1]/y[1] | dz[0,1]/y[1] = 2/(−2)"},
        {[](In x) { return Tensors{ops::sqrt(x[0])}; },
         {numbers({4}, {1})},
         {numbers({3}, {1})},
         "sqrt",
         0,
         0,
         "dx[0] = dz[0]·½ / √x[0] | dz[0]·½ / √x[0] = 3·½ / √4"},
        {[](In x) { return Tensors{ops::reduce_sum(x[0], ops::Integers{1})}; },
         {a},
         {w2},
         "reduce_sum",
         0,
         5,
         "dx[1,2] = dz[1] | dz[1] = 4"},
        {[](In x) { return Tensors{ops::subtract(x[0], x[1])}; },
         {a, row},
         {w23},
         "subtract",
         1,
         0,
         "dy[0] = Σₖ −dz[k,0] | −dz[1,0] = −4 | −dz[0,0] = −1"},
        {[](In x) { return Tensors{ops::transpose(x[0])}; },
         {b},
         {w23},
         "transpose",
         0,
         3,
         "dx[1,1] = dz[1,1] | dz[1,1] = 5"},
        {[&](In x) { return Tensors{ops::gather(x[0], ids)}; },
         {w2},
         {row},
         "gather",
         0,
         1,
         "d(params)[1] = Σₖ dz[k] | dz[2] = 3 | dz[0] = 1"},
        {[](In x) {
           return Tensors{called("einsum", Tensors(x.begin(), x.end()), {{"equation", "ij,kj->ik"}})};
         },
         {a, numbers({1, 0, 2, -1, 3, 1}, {2, 3})},
         {w},
         "einsum",
         1,
         4,
         "dx1[1,1] = Σₖ dz[k,1]·x0[k,1] | dz[1,1]·x0[1,1] = 4·5 | dz[0,1]·x0[0,1] = (−2)·2"},
        {[](In x) { return Tensors{ops::conv2d(x[0], x[1], {.padding = "VALID"})}; },
         {numbers({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1}), numbers({1, -1, 2, 0.5}, {2, 2, 1, 1})},
         {numbers({1, 2, 3, 4}, {1, 2, 2, 1})},
         "conv2d",
         0,
         1,
         "d(input)[0,0,1,0] = Σₖᵢ dz[0,0,k,0]·filter[0,i,0,0] | dz[0,0,1,0]·filter[0,0,0,0] = 2·1 | "
         "dz[0,0,0,0]·filter[0,1,0,0] = 1·(−1)"},
        {[](In x) { return Tensors{ops::reduce_max(x[0], ops::Integers{1})}; },
         {a},
         {w2},
         "reduce_max",
         0,
         2,
         "dx[0,2] = dz[0] | dz[0] = 0.5"},
    };
    for (const Case& one : cases) {
      Reading reading;
      play(one.f, one.inputs, one.weights);
      const ElementTerms terms = reading.explain(reading.vjp_of(one.op), one.input, one.element);
      QCOMPARE(QString::fromStdString(texts(terms)), QString::fromStdString(one.text));
      protocol::parse_expression(terms.formula, terms.names);
    }
  }

  void the_largest_terms_come_first_and_the_rest_is_summed() {
    Reading reading;
    Numbers left(40), right(40);
    for (std::size_t i = 0; i < 40; ++i) left[i] = double(i), right[i] = i % 2 ? -1.0 : 1.0;
    const Tensor x = numbers({2}, {1, 1}), y = numbers(right, {1, 40}), w = numbers(left, {1, 40});
    play([](auto in) { return Tensors{ops::matmul(in[0], in[1])}; }, {x, y}, {w});
    const ElementTerms terms = reading.explain(reading.vjp_of("matmul"), 0, 0, 3);
    QCOMPARE(terms.total, std::uint64_t{39});
    QCOMPARE(terms.terms.size(), std::size_t{3});
    QCOMPARE(terms.terms[0].value, -39.0);
    QCOMPARE(terms.terms[0].element, std::uint64_t{39});
    QCOMPARE(terms.terms[1].expression, std::string("dC[0,38]·B[0,38]"));
    QCOMPARE(terms.value, -20.0);
    QCOMPARE(terms.rest, -20.0 - (-39 + 38 - 37));
  }

  void of_many_terms_those_that_matter_most_are_kept() {
    Reading reading;
    const std::size_t count = 5000;
    Numbers weights(count);
    for (std::size_t i = 0; i < count; ++i) weights[i] = double(i * 7919 % count) - 2000;  // each once
    const Tensor x = numbers({2}, {1, 1}), y = numbers(Numbers(count, 1.0), {1, count});
    const Tensor w = numbers(weights, {1, count});
    play([](auto in) { return Tensors{ops::matmul(in[0], in[1])}; }, {x, y}, {w});
    const std::uint32_t vjp = reading.vjp_of("matmul");
    const double all = 2999.0 * 3000 / 2 - 2000.0 * 2001 / 2;
    const ElementTerms terms = reading.explain(vjp, 0, 0, 100);
    QCOMPARE(terms.total, std::uint64_t{count - 1});  // one is 0
    QCOMPARE(terms.terms.size(), std::size_t{100});
    for (std::size_t i = 0; i < 100; ++i) QCOMPARE(terms.terms[i].value, 2999.0 - double(i));
    QCOMPARE(sum_of(terms), all);
    const ElementTerms none = reading.explain(vjp, 0, 0, 0);
    QVERIFY(none.terms.empty());
    QCOMPARE(none.total, std::uint64_t{count - 1});
    QCOMPARE(none.rest, all);
  }

  void bad_requests_say_what_is_wrong() {
    Reading reading;
    const Tensor x = numbers({3, 4}, {2});
    play([](auto in) { return Tensors{ops::exp(in[0])}; }, {x});
    const std::uint32_t vjp = reading.vjp_of("exp");
    const auto refusal = [&](std::uint64_t record, std::uint32_t input, std::uint64_t element) {
      try {
        reading.explain(record, input, element);
        return std::string();
      } catch (const debug::BadRequest& error) {
        return std::string(error.what());
      }
    };
    QCOMPARE(refusal(1, 0, 0), std::string("explain_element: record 1 is not a VJP that is still there."));
    QCOMPARE(refusal(~0ull, 0, 0),
             std::string("explain_element: record 18446744073709551615 is not a VJP that is "
                         "still there."));
    QCOMPARE(refusal(vjp, 5, 0), std::string("explain_element: the VJP gives input 5 no gradient."));
    QCOMPARE(refusal(vjp, 0, 2), std::string("explain_element: element 2 of 2 was asked for."));
    QCOMPARE(refusal(vjp, 0, ~0ull),
             std::string("explain_element: element 9223372036854775807 of 2 was asked for."));
  }

  static bool meets_complex(const OpDef& op, const Row& row) {
    Random random(1);
    const Call call = row.calls[0](random);
    Tensors all = run_call(op, call);
    all.insert(all.end(), call.inputs.begin(), call.inputs.end());
    return std::any_of(all.begin(), all.end(), [](const Tensor& each) { return is_complex(each.dtype()); });
  }

  /// The terms sum up to the element that the playback computed, for every op.
  void every_ops_elements_are_the_sums_of_their_terms() {
    int refused = 0;
    QStringList wrong;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const Row* row = op.vjp ? row_of(op.name) : nullptr;
      if (!row) continue;
      const bool refuses = meets_complex(op, *row);  // elements of complex tensors are not taken apart
      int explained = 0;
      for (std::size_t k = 0; k < 3 * row->calls.size() && explained < 6; ++k) {
        Random random(100 + k);
        const Call call = row->calls[k % row->calls.size()](random);
        try {
          explained += explain_call(op, call, random, wrong);
        } catch (const UnimplementedError&) {  // factors that are not unique have no gradient, and say so
        } catch (const ValueError& error) {
          if (!refuses || error.code != "complex") throw;
          QVERIFY(
              std::string(error.what()).ends_with("complex numbers; their elements are not taken apart."));
          ++refused;
        } catch (const std::exception& error) {
          wrong << QString::fromStdString(op.name + " threw " + error.what());
        }
      }
      if (refuses && explained > 0) wrong << QString::fromStdString(op.name + " explained a complex element");
      if (explained == 0 && !refuses) wrong << QString::fromStdString(op.name + ": no element was explained");
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    QVERIFY(refused > 0);
  }

 private:
  static int explain_call(const OpDef& op, const Call& call, Random& random, QStringList& wrong) {
    if (elements_of(call.inputs) > 400) return 0;
    Reading reading;
    Tape tape;
    tape.start();
    for (const Tensor& input : call.inputs) tape.watch(input);
    const Tensors outputs = run_call(op, call);
    Tensors targets, weights;
    for (const Tensor& output : outputs)
      if (is_floating(output.dtype())) {
        targets.push_back(output);
        weights.push_back(ops::cast(random_tensor(random, output.shape()), output.dtype()));
      }
    if (targets.empty() || elements_of(targets) == 0) return 0;
    tape.gradient(targets, call.inputs, weights);
    const std::uint32_t vjp = reading.vjp_of(op.name);
    if (!vjp) return 0;
    const VjpParts parts = reading.parts(vjp);
    int explained = 0;
    for (const VjpContribution& contribution : parts.contributions) {
      const Numbers values = reading.values(contribution.contribution.value());
      if (values.empty()) continue;
      const std::uint64_t element = random() % values.size();
      const ElementTerms terms = reading.explain(vjp, contribution.input, element, 1000);
      ++explained;
      const double expected = values[element], sum = sum_of(terms);
      const bool same = std::isfinite(expected) ? std::abs(sum - expected) <= 1e-6 * (1 + std::abs(expected))
                                                : !std::isfinite(sum);
      if (!same || !(std::isnan(expected) || terms.value == expected))
        wrong << QString("%1: %2 is %3, the terms make %4: %5")
                     .arg(op.name.c_str(), terms.formula.c_str())
                     .arg(expected)
                     .arg(sum)
                     .arg(QString::fromStdString(texts(terms)).left(400));
      try {
        protocol::parse_expression(terms.formula, terms.names);
        for (const auto& term : terms.terms) protocol::parse_expression(term.numbers, terms.names);
      } catch (const protocol::FormulaError& error) {
        wrong << QString::fromStdString(op.name + ": " + error.what());
      }
    }
    return explained;
  }
};

TAPEDECK_TEST(TestVjpElements)
#include "tst_vjp_elements.moc"
