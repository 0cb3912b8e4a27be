// What if: the past with something changed, beside the same program run with
// the change.
#include <QtTest>

#include "engine/debug/what_if.h"
#include "engine/ops/observer.h"
#include "tests/engine/inquiry.h"
#include "tests/engine/served.h"

using namespace tapedeck;
using namespace tapedeck::protocol;

namespace {

PastChange element_becomes(const Tensor& tensor, std::vector<std::int64_t> element, double number) {
  PastChange change;
  change.kind = ChangeKind::element;
  change.tensor = tensor.id();
  change.element = std::move(element);
  change.numbers = {number};
  return change;
}

PastChange op_becomes(ChangeKind kind, std::uint64_t record, std::vector<double> numbers = {}) {
  PastChange change;
  change.kind = kind;
  change.record = record;
  change.numbers = std::move(numbers);
  return change;
}

/// A recording, its branches, and what they say.
struct World : Recording {
  debug::Branches branches{recorder};
  CancelFlag cancel{false};
  debug::Branches::Find original = [this](std::uint64_t id) { return find_value(recorder, id).value; };

  Branched make(std::vector<PastChange> changes) {
    return branches.make({std::move(changes), 0}, original, cancel, {});
  }
  std::vector<double> value(const Branched& branch, const Tensor& tensor, bool difference = false) {
    const QuietScope quiet;  // as the server answers
    return branches.value(branch.branch, tensor.id(), difference, original, cancel).to_vector();
  }
};

}  // namespace

class TestWhatIf : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { register_all_ops(); }

  void what_follows_a_changed_element_runs_again() {
    World world;
    const auto program = [](const Tensor& x) {
      return ops::reduce_sum(ops::square(ops::matmul(x, floats({1, 2, 3, 4}, {2, 2}))));
    };
    const Tensor x = floats({1, 0, 2, 1}, {2, 2});
    const Tensor y = program(x);
    const std::uint32_t count = world.count();
    const double before = y.item();
    const Branched branch = world.make({element_becomes(x, {1, 0}, 5)});
    QCOMPARE(world.value(branch, y)[0], program(floats({1, 0, 5, 1}, {2, 2})).item());
    QCOMPARE(world.value(branch, y, true)[0], world.value(branch, y)[0] - before);
    QCOMPARE(branch.depending, std::uint64_t{3});
    QCOMPARE(branch.moved.size(), std::size_t{3});
    QVERIFY(branch.moved[0].difference >= branch.moved[1].difference);
    QCOMPARE(branch.moved.back().op, std::string("matmul"));
    QVERIFY(branch.complete);
    // Nothing in the session changed.
    QCOMPARE(find_value(world.recorder, y.id()).value.item(), before);
    QCOMPARE(world.count(), count + 3);  // the program that it was compared with
  }

  void an_op_is_skipped_zeroed_scaled_and_clipped() {
    World world;
    const Tensor x = floats({-3, 1, 4});
    const Tensor y = ops::negative(x);
    const Tensor z = ops::add(y, floats({1, 1, 1}));
    const std::vector<std::pair<PastChange, std::vector<double>>> cases = {
        {op_becomes(ChangeKind::skip, 1), {-2, 2, 5}},
        {op_becomes(ChangeKind::zero, 1), {1, 1, 1}},
        {op_becomes(ChangeKind::scale, 1, {10}), {31, -9, -39}},
        {op_becomes(ChangeKind::clip, 1, {2}), {3, 0, -1}}};
    for (const auto& [change, expected] : cases) QCOMPARE(world.value(world.make({change}), z), expected);
  }

  void an_attribute_and_a_seed_change() {
    World world;
    const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor sums = ops::cumsum(x, 0);
    PastChange axis = op_becomes(ChangeKind::attribute, 1);
    axis.attribute = "axis";
    axis.text = "1";
    QCOMPARE(world.value(world.make({axis}), sums), (std::vector<double>{1, 3, 6, 4, 9, 15}));
    axis.text = "one";
    QVERIFY_EXCEPTION_THROWN(world.make({axis}), debug::BadRequest);
    axis.attribute = "way";
    QVERIFY_EXCEPTION_THROWN(world.make({axis}), debug::BadRequest);
  }

  void random_numbers_stay_those_of_the_original() {
    World world;
    const Tensor factor = floats({2});
    const Tensor noise = ops::random_normal({4}, 0, 1, DType::float32);
    const Tensor y = ops::multiply(noise, factor);
    const Branched branch = world.make({element_becomes(factor, {0}, 4)});
    const std::vector<double> drawn = noise.to_vector();
    for (std::size_t i = 0; i < drawn.size(); ++i) QCOMPARE(world.value(branch, y)[i], 4 * drawn[i]);
    QCOMPARE(world.value(branch, noise), drawn);
  }

  void it_goes_on_through_assignments_and_playbacks() {
    World world;
    Variable w(floats({1, 2}), "w");
    const Tensor x = floats({3, 4});
    Tensor loss;
    const auto step = [&] {
      Tape tape;
      tape.start();
      loss = ops::reduce_sum(ops::square(ops::multiply(w.read(), x)));
      tape.stop();
      const Variable sources[] = {w};
      const Tensor gradient = tape.gradient(std::span(&loss, 1), sources)[0];
      w.assign(ops::subtract(w.read(), ops::multiply(gradient, floats({0.01F, 0.01F}))));
    };
    step();
    step();
    const Tensor last = loss;
    const Branched branch = world.make({element_becomes(x, {0}, 1)});
    // The same by hand: w₀ ← w₀ − 0.01·2·w₀·x₀², twice.
    const double w0 = 1 - 0.02 * 1, w1 = 2 - 0.02 * 2 * 16;
    const double expected = w0 * w0 + 16 * w1 * w1;
    QVERIFY(std::abs(world.value(branch, last)[0] - expected) < 1e-4 * expected);
  }

  void nonsense_is_refused() {
    World world;
    const Tensor x = floats({1, 2});
    const Tensor y = ops::reduce_sum(x);
    QVERIFY_EXCEPTION_THROWN(world.make({}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({element_becomes(x, {2}, 1)}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::scale, 1)}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::zero, 9)}), debug::BadRequest);
    PastChange value;
    value.tensor = x.id();
    value.numbers = {1, 2, 3};
    QVERIFY_EXCEPTION_THROWN(world.make({value}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(world.make({op_becomes(ChangeKind::skip, 1)}),
                             ValueError);  // another shape
    QVERIFY_EXCEPTION_THROWN(world.branches.value(77, y.id(), false, world.original, world.cancel),
                             ValueError);
    world.cancel = true;
    QVERIFY_EXCEPTION_THROWN(world.make({element_becomes(x, {1}, 1)}), Cancelled);
  }

  void a_client_asks_over_its_socket() {
    Served served;
    const Tensor x = floats({1, 2, 3});
    const Tensor y = ops::square(x);
    RawClient client = served.client();
    client.greet();
    const auto branch = client.ask<Branched>(MakeBranch{{element_becomes(x, {2}, 10)}, 0});
    QCOMPARE(branch.moved.at(0).op, std::string("square"));
    GetBranchTile get;
    get.branch = branch.branch;
    get.tile.tensor = y.id();
    get.tile.rows = 1;
    get.tile.columns = 3;
    QCOMPARE(client.ask<Tile>(get).values, (std::vector<double>{1, 4, 100}));
    get.difference = true;
    QCOMPARE(client.ask<Tile>(get).values, (std::vector<double>{0, 0, 91}));
    QCOMPARE(client.ask<Statistics>(GetBranchStatistics{branch.branch, false, {y.id(), 8}}).maximum, 100.0);
    client.ask<Status>(DropBranch{branch.branch});
    QCOMPARE(client.ask<Failure>(get).code, std::string("gone"));
  }
};

QTEST_GUILESS_MAIN(TestWhatIf)
#include "tst_what_if.moc"
