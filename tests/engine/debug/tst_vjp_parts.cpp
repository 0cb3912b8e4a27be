// What went into a VJP and what came out: symbols, contributions, and the sums that they go to; of a user's
// gradient also what ran in it.
#include <QtTest>
#include <map>

#include "tests/engine/debug/served.h"
#include "tests/engine/debug/vjp_reading.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;
using protocol::ElementTerms;
using protocol::GetVjp;
using protocol::VjpContribution;
using protocol::VjpParts;
using protocol::VjpRole;

namespace {

const protocol::VjpSymbol* symbol(const VjpParts& parts, VjpRole role, const std::string& name) {
  for (const auto& one : parts.symbols)
    if (one.role == role && one.symbol == name) return &one;
  return nullptr;
}

}  // namespace

class TestVjpParts : public QObject {
  Q_OBJECT
 private slots:
  void each_symbol_of_a_matrix_product_stands_for_its_tensor() {
    Reading reading;
    const Tensor a = numbers({1, 2, 3, 4, 5, 6}, {2, 3}), b = numbers({1, 0, -1, 2, 0.5, 3}, {3, 2});
    const Tensor weights = numbers({1, 2, 3, 4}, {2, 2});
    const Tensors gradients =
        play([](auto x) { return Tensors{ops::matmul(x[0], x[1])}; }, {a, b}, {weights});
    const std::uint32_t vjp = reading.vjp_of("matmul");
    const VjpParts parts = reading.parts(vjp);
    QCOMPARE(parts.asked, std::uint64_t{vjp});
    QCOMPARE(parts.vjp.value().number, std::uint64_t{vjp});
    QCOMPARE(parts.forward.value().op, std::string("matmul"));
    QCOMPARE(parts.forward.value().kind, protocol::RecordKind::op);
    QVERIFY(!parts.problem);
    const auto *A = symbol(parts, VjpRole::input, "A"), *B = symbol(parts, VjpRole::input, "B"),
               *dC = symbol(parts, VjpRole::cotangent, "C");
    QVERIFY(A && B && dC);
    QCOMPARE(A->tensor.value().id, a.id());
    QCOMPARE(B->tensor.value().id, b.id());
    QCOMPARE(dC->tensor.value().id, weights.id());
    QVERIFY(!symbol(parts, VjpRole::output, "C"));  // the formula does not read the product
    QCOMPARE(parts.contributions.size(), std::size_t{2});
    for (std::size_t i = 0; i < 2; ++i) {
      const VjpContribution& contribution = parts.contributions[i];
      QCOMPARE(contribution.symbol, std::string(i == 0 ? "A" : "B"));
      QCOMPARE(contribution.input, std::uint32_t(i));
      QVERIFY(!contribution.foreseen);
      QCOMPARE(contribution.contribution.value().id, gradients[i].id());
      QVERIFY(!contribution.before);
      QCOMPARE(contribution.after.value().id, gradients[i].id());
      QCOMPARE(contribution.result, std::optional(contribution.input));
    }
    // The op inside the VJP, and the forward op, lead to the same.
    QCOMPARE(reading.parts(vjp + 1).vjp.value().number, std::uint64_t{vjp});
    QCOMPARE(reading.parts(parts.forward.value().number).vjp.value().number, std::uint64_t{vjp});
    QVERIFY(!reading.parts(reading.count() + 1).forward);
  }

  void outputs_attributes_and_counts_are_there_where_the_formula_names_them() {
    Reading reading;
    const Tensor x = numbers({1, 2, 3, 4, 5, 6}, {2, 3});
    play(
        [](auto in) {
          return Tensors{ops::sigmoid(called("leaky_relu", {in[0]}, {{"alpha", 0.25}}))};
        },
        {x});
    const VjpParts sigmoid = reading.parts(reading.vjp_of("sigmoid"));
    QVERIFY(symbol(sigmoid, VjpRole::output, "z"));
    QCOMPARE(symbol(sigmoid, VjpRole::output, "z")->tensor.value().id, sigmoid.forward.value().outputs[0].id);
    const VjpParts leaky = reading.parts(reading.vjp_of("leaky_relu"));
    QVERIFY(symbol(leaky, VjpRole::attribute, "alpha"));
    QCOMPARE(symbol(leaky, VjpRole::attribute, "alpha")->text, std::string("0.25"));
    play([](auto in) { return Tensors{ops::reduce_mean(in[0], ops::Integers{1})}; }, {x});
    const VjpParts mean = reading.parts(reading.vjp_of("reduce_mean"));
    QVERIFY(symbol(mean, VjpRole::count, "n"));
    QCOMPARE(symbol(mean, VjpRole::count, "n")->text, std::string("3"));
  }

  void sums_of_contributions_are_told_before_and_after() {
    Reading reading;
    const Tensor x = numbers({2}, {1});
    // d/dx of e^x + x·x + 3x, in the order in which the playback adds: 3, then the two of x·x, then e^x.
    const Tensors gradients = play(
        [](auto in) {
          const Tensor& v = in[0];
          const Tensor a = ops::exp(v), b = ops::multiply(v, v), c = ops::multiply(v, numbers({3}, {1}));
          return Tensors{ops::add(ops::add(a, b), c)};
        },
        {x});
    const auto value = [&](const protocol::TensorInfo& info) { return reading.values(info).at(0); };
    const VjpParts first = reading.parts(reading.vjp_of("multiply", 1));
    QCOMPARE(first.contributions.size(), std::size_t{1});
    QVERIFY(!first.contributions[0].before);
    QCOMPARE(value(first.contributions[0].after.value()), 3.0);
    const VjpParts square = reading.parts(reading.vjp_of("multiply", 0));
    QCOMPARE(square.contributions.size(), std::size_t{2});
    QCOMPARE(value(square.contributions[0].before.value()), 3.0);
    QCOMPARE(value(square.contributions[0].after.value()), 5.0);
    QCOMPARE(value(square.contributions[1].before.value()), 5.0);
    QCOMPARE(value(square.contributions[1].contribution.value()), 2.0);
    QCOMPARE(value(square.contributions[1].after.value()), 7.0);
    const VjpParts last = reading.parts(reading.vjp_of("exp"));
    QCOMPARE(value(last.contributions[0].before.value()), 7.0);
    QCOMPARE(last.contributions[0].after.value().id, gradients[0].id());
    // A sum belongs to the VJP whose contribution it adds.
    std::uint64_t sum = last.contributions[0].after.value().producer;
    QCOMPARE(reading.at(static_cast<std::uint32_t>(sum)).op, std::string("add"));
    QCOMPARE(reading.parts(sum).vjp.value().number, last.vjp.value().number);
    QVERIFY(!last.sum && !first.sum);
    // And it tells what is in it: from which VJPs, in order.
    const auto told = reading.parts(sum).sum;
    QVERIFY(told);
    QCOMPARE(told->record, sum);
    QCOMPARE(told->target.value().id, x.id());
    QCOMPARE(told->parts_total, std::uint64_t{4});
    QStringList parts;
    for (const protocol::GradientPart& part : told->parts)
      parts << QString("%1 %2 %3 %4")
                   .arg(QString::fromStdString(part.op), QString::fromStdString(part.symbol.value_or("-")))
                   .arg(part.input)
                   .arg(value(part.value));
    parts.removeLast();  // e²
    QCOMPARE(parts, (QStringList{"multiply x 0 3", "multiply x 0 2", "multiply y 1 2"}));
    QCOMPARE(told->parts.front().vjp, first.vjp.value().number);
    QCOMPARE(told->parts[1].vjp, square.vjp.value().number);
    QCOMPARE(told->parts.back().vjp, last.vjp.value().number);
    QCOMPARE(value(told->before), 7.0);
    QCOMPARE(value(told->contribution), std::exp(2.0));
    // Nothing more is added to it: it is what the playback gives for x.
    QCOMPARE(told->result, std::optional<std::uint32_t>(0));
    QCOMPARE(last.results, 1u);
    QCOMPARE(last.contributions[0].result, std::optional<std::uint32_t>(0));
    QVERIFY(!square.contributions[1].result && !first.contributions[0].result);
    QCOMPARE(told->after.value().id, gradients[0].id());
    const auto earlier = reading.parts(square.contributions[0].after.value().producer).sum;
    QCOMPARE(earlier.value().parts_total, std::uint64_t{2});
    QCOMPARE(value(earlier.value().after.value()), 5.0);
  }

  void one_tensor_that_goes_to_two_sums_is_told_apart() {
    Reading reading;
    const Tensor x = numbers({2}, {1}), y = numbers({5}, {1});
    // The VJP of add gives both inputs the same tensor; y has a gradient already, x has none.
    play(
        [](auto in) {
          const Tensor sum = ops::add(in[0], in[1]);
          const Tensor minus = ops::negative(in[1]);
          return Tensors{ops::add(sum, minus)};
        },
        {x, y});
    const VjpParts parts = reading.parts(reading.vjp_of("add", 0));
    QCOMPARE(parts.contributions.size(), std::size_t{2});
    QCOMPARE(parts.contributions[0].contribution.value().id, parts.contributions[1].contribution.value().id);
    QVERIFY(!parts.contributions[0].before);
    QCOMPARE(reading.values(parts.contributions[1].before.value()), Numbers{-1});
    QCOMPARE(reading.values(parts.contributions[1].after.value()), Numbers{0});
  }

  void a_gradient_that_was_given_for_a_target_counts_as_the_sum_before() {
    Reading reading;
    const Tensor x = numbers({2}, {1});
    play(
        [](auto in) {
          const Tensor middle = ops::exp(in[0]);
          return Tensors{middle, ops::square(middle)};
        },
        {x}, {numbers({10}, {1}), numbers({1}, {1})});
    const VjpParts parts = reading.parts(reading.vjp_of("square"));
    QCOMPARE(reading.values(parts.contributions[0].before.value()), Numbers{10});
    QCOMPARE(reading.values(parts.contributions[0].after.value()), Numbers{10 + 2 * std::exp(2.0)});
    const auto sum = reading.parts(parts.contributions[0].after.value().producer).sum;
    QCOMPARE(sum.value().parts_total, std::uint64_t{2});
    QCOMPARE(sum->parts[0].vjp, std::uint64_t{0});  // the playback began with it
    QCOMPARE(reading.values(sum->parts[0].value), Numbers{10});
  }

  void two_gradients_that_were_given_for_one_target_are_a_sum_without_a_vjp() {
    Reading reading;
    const Tensor x = numbers({2}, {1});
    play(
        [](auto in) {
          const Tensor y = ops::exp(in[0]);
          return Tensors{y, y};
        },
        {x}, {numbers({10}, {1}), numbers({1}, {1})});
    std::uint32_t sum = 0;
    for (std::uint32_t number = 1; number <= reading.count(); ++number)
      if (reading.at(number).sums_gradients) sum = number;
    const VjpParts parts = reading.parts(sum);
    QVERIFY(!parts.forward && !parts.vjp);
    QVERIFY(parts.sum && parts.sum->parts.empty() && !parts.sum->target);
    QCOMPARE(reading.values(parts.sum->before), Numbers{10});
    QCOMPARE(reading.values(parts.sum->after.value()), Numbers{11});
  }

  void before_a_sum_its_parts_are_there_and_what_comes_later_is_said_to_come() {
    Served served;
    RawClient client = served.client();
    client.greet();
    client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::pause});
    const Tensor x = numbers({4}, {1});
    std::thread thread(
        [&] { play([](auto in) { return Tensors{ops::add(ops::multiply(in[0], in[0]), in[0])}; }, {x}); });
    const auto guard = qScopeGuard([&] {
      client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
      thread.join();
    });
    std::uint64_t stop = 0;
    const auto step_to_sum = [&] {
      for (int i = 0; i < 10; ++i) {
        protocol::Status status;
        const bool came = wait_for([&] {
          status = client.ask<protocol::Status>(protocol::GetStatus{});
          return protocol::stop_id(status).value_or(stop) != stop;
        });
        if (!came) return std::uint64_t{0};
        stop = *protocol::stop_id(status);
        const auto parts = client.ask<VjpParts>(GetVjp{status.stopped_before.value()});
        if (parts.sum && !parts.sum->after) return *status.stopped_before;
        client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
      }
      return std::uint64_t{0};
    };
    const std::uint64_t first = step_to_sum();
    QVERIFY(first != 0);
    VjpParts parts = client.ask<VjpParts>(GetVjp{first});
    QCOMPARE(parts.sum->parts_total, std::uint64_t{2});  // 1 of add's VJP, and 4
    QCOMPARE(parts.sum->before.preview, std::string("[1.]"));
    QCOMPARE(parts.sum->contribution.preview, std::string("[4.]"));
    QVERIFY(!parts.sum->after);
    // What the VJP gave is there; neither part has been added.
    QCOMPARE(parts.contributions.size(), std::size_t{2});
    QCOMPARE(parts.contributions[0].before.value().preview, std::string("[1.]"));
    QVERIFY(!parts.contributions[0].after);
    QVERIFY(!parts.contributions[1].before && !parts.contributions[1].after);
    client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
    const std::uint64_t second = step_to_sum();
    QVERIFY(second > first);
    parts = client.ask<VjpParts>(GetVjp{second});
    QCOMPARE(parts.sum->parts_total, std::uint64_t{3});
    QCOMPARE(parts.sum->before.preview, std::string("[5.]"));
    QCOMPARE(parts.contributions[0].after.value().preview, std::string("[5.]"));
    QCOMPARE(parts.contributions[1].before.value().preview, std::string("[5.]"));
    parts = client.ask<VjpParts>(GetVjp{first});
    QCOMPARE(parts.sum->after.value().preview, std::string("[5.]"));
  }

  void at_the_gate_the_contributions_are_foreseen() {
    Served served;
    RawClient client = served.client();
    client.greet();
    client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::pause});
    std::thread thread([] {
      const Tensor x = numbers({1, 2}, {2}), y = numbers({3, -1}, {2});
      play([](auto in) { return Tensors{ops::add(ops::multiply(in[0], in[0]), in[0])}; }, {x});
      Tape tape;
      tape.start();
      tape.watch(x);
      const Tensor z = ops::multiply(x, y);
      tape.gradient(std::array{z}, std::array{x});
    });
    struct Seen {
      Numbers contribution, after;
      std::vector<std::uint32_t> inputs;
    };
    std::map<std::uint64_t, Seen> foreseen;
    const auto tile = [&](std::uint64_t id) {
      protocol::GetTile get;
      get.tensor = id;
      get.rows = get.columns = 10;
      return client.ask<protocol::Tile>(get).values;
    };
    std::uint64_t before = 0;
    while (foreseen.size() < 3) {
      std::uint64_t at = 0;
      QVERIFY(wait_for([&] {
        const auto status = client.ask<protocol::Status>(protocol::GetStatus{});
        at = status.stopped_before.value_or(0);
        const auto stop = protocol::stop_id(status).value_or(before);
        return std::exchange(before, stop) != stop;
      }));
      const VjpParts parts = client.ask<VjpParts>(GetVjp{at});
      if (parts.vjp && parts.vjp->number == at) {
        QVERIFY2(!parts.problem, parts.problem.value_or("").c_str());
        Seen& seen = foreseen[at];
        for (const VjpContribution& contribution : parts.contributions) {
          QVERIFY(contribution.foreseen);
          seen.inputs.push_back(contribution.input);
          for (const double value : tile(contribution.contribution.value().id))
            seen.contribution.push_back(value);
          for (const double value : tile(contribution.after.value().id)) seen.after.push_back(value);
        }
      }
      client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::step_op});
    }
    client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
    thread.join();
    for (const auto& [number, seen] : foreseen) {
      const VjpParts parts = client.ask<VjpParts>(GetVjp{number});
      Seen real;
      for (const VjpContribution& contribution : parts.contributions) {
        QVERIFY(!contribution.foreseen);
        real.inputs.push_back(contribution.input);
        for (const double value : tile(contribution.contribution.value().id))
          real.contribution.push_back(value);
        for (const double value : tile(contribution.after.value().id)) real.after.push_back(value);
      }
      QCOMPARE(seen.inputs, real.inputs);  // what nobody waits for is not foreseen: y of the last product
      QCOMPARE(seen.contribution, real.contribution);
      QCOMPARE(seen.after, real.after);
    }
    QCOMPARE(foreseen.rbegin()->second.inputs, std::vector<std::uint32_t>{0});
  }

  void a_custom_gradient_comes_with_what_ran_in_it() {
    Reading reading;
    const Tensor x = numbers({3, 4}, {2});
    play([](auto in) { return Tensors{custom_square(in[0])}; }, {x});
    const VjpParts parts = reading.parts(reading.vjp_of("custom_square"));
    QVERIFY(parts.vjp.value().custom_gradient);
    QCOMPARE(parts.forward.value().kind, protocol::RecordKind::custom);
    QCOMPARE(parts.inside_total, std::uint64_t{2});
    QCOMPARE(parts.inside.at(1).parent, parts.vjp.value().number);
    QCOMPARE(reading.parts(parts.inside[1].number).vjp.value().number, parts.vjp.value().number);
    QCOMPARE(reading.values(parts.contributions.at(0).contribution.value()), (Numbers{6, 8}));
    // The user's code does not run again: the ops that ran in it do.
    const ElementTerms terms = reading.explain(parts.vjp.value().number, 0, 1);
    QCOMPARE(texts(terms), std::string("dx[1] = dz[1]·(∂dx[1] / ∂dz[1]) | dz[1]·(∂dx[1] / ∂dz[1]) = 1·8"));
    QCOMPARE(terms.value, 8.0);
    QVERIFY(!terms.remark);
  }
};

TAPEDECK_TEST(TestVjpParts)
#include "tst_vjp_parts.moc"
