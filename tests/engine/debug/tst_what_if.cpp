// What if: the past with something changed, beside the same program run with the change.
#include <QtTest>

#include "engine/ops/linear_algebra/linear_algebra.h"
#include "tests/engine/debug/served.h"
#include "tests/engine/debug/what_if_world.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace what_if_test;

class TestWhatIf : public QObject {
  Q_OBJECT
 private slots:
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

  void another_seed_draws_what_the_program_would_draw_with_it() {
    World world;
    const Tensor noise = ops::random_normal({4}, 0, 1, DType::float32, 11);
    const Tensor y = ops::negative(noise);
    const std::vector<double> drawn = noise.to_vector();
    const Branched branch = world.make({attribute_becomes(1, "seed", "12")});
    const std::vector<double> other = world.value(branch, noise);
    QVERIFY(other != drawn);
    QCOMPARE(world.value(branch, noise), other);  // the same whenever it is looked at
    QCOMPARE(ops::random_normal({4}, 0, 1, DType::float32, 12).to_vector(), other);
    QCOMPARE(world.value(world.make({attribute_becomes(1, "seed", "11")}), noise), drawn);
  }

  void an_op_that_fails_in_the_branch_is_named_and_the_others_are_shown() {
    World world;
    const Tensor x = floats({4, 0, 0, 4}, {2, 2});
    const Tensor lower = testing::called("cholesky", {x});
    const Tensor sum = ops::reduce_sum(x);
    const Branched branch = world.make({element_becomes(x, {0, 0}, -1)});
    QVERIFY2(QString::fromStdString(branch.sentence).contains("In the branch op 1 (cholesky) fails"),
             branch.sentence.c_str());
    QCOMPARE(world.value(branch, sum), (std::vector<double>{3}));
    QVERIFY_EXCEPTION_THROWN(world.value(branch, lower), ValueError);
  }

  void no_number_moves_by_a_share_of_nothing() {
    World world;
    const Tensor x = floats({0, 1});
    const Tensor y = ops::multiply(x, floats({1, 0}));  // [0, 0]
    const Tensor z = ops::log(x);                       // [-inf, 0]
    const Branched branch = world.make({element_becomes(x, {0}, 2)});
    QCOMPARE(branch.moved.size(), std::size_t{2});
    for (const Moved& moved : branch.moved) QVERIFY(std::isinf(moved.difference));
    QVERIFY(branch.sentence.find("inf") == std::string::npos);
    // The same infinity in both has not moved.
    const Branched other = world.make({element_becomes(x, {1}, 5)});
    QCOMPARE(world.value(other, z, true)[0], 0.0);
    QVERIFY(std::abs(world.value(other, z, true)[1] - std::log(5.0)) < 1e-6);
    QCOMPARE(other.moved.size(), std::size_t{1});
    QCOMPARE(world.value(other, y), (std::vector<double>{0, 0}));
  }

  void small_values_of_the_branch_come_as_text() {
    World world;
    const Tensor x = floats({1, 2});
    const Tensor y = ops::square(x);
    const Tensor wide = ops::zeros({100});
    const Branched branch = world.make({element_becomes(x, {1}, 5)});
    GetBranchPreviews get{branch.branch, false, {y.id(), wide.id(), 999'999}};
    const QuietScope quiet;
    QCOMPARE(world.branches.previews(get, world.original, world.cancel).previews,
             (std::vector<std::optional<std::string>>{"[ 1. 25.]", {}, {}}));
    get.difference = true;
    QCOMPARE(world.branches.previews(get, world.original, world.cancel).previews[0],
             std::string("[ 0. 21.]"));
    get.branch = 77;
    QVERIFY_EXCEPTION_THROWN(world.branches.previews(get, world.original, world.cancel), ValueError);
  }

  void a_variable_takes_the_branch_s_value() {
    World world;
    Variable w(floats({1, 2}), "w");
    const Tensor first = w.read();
    w.assign(ops::multiply(first, floats({3, 3})));
    const Tensor second = w.read();
    const Branched branch = world.make({element_becomes(first, {0}, 10)});
    QCOMPARE(w.read().to_vector(), (std::vector<double>{3, 6}));  // not before it is told to
    const std::uint32_t count = world.count();
    const auto take = [&](std::uint64_t tensor) {
      const QuietScope quiet;
      return world.branches.take_over({branch.branch, tensor}, world.original, world.cancel);
    };
    const TakenOver taken = take(second.id());
    QCOMPARE(taken.variable, std::string("w:0"));
    QCOMPARE(w.read().to_vector(), (std::vector<double>{30, 6}));
    QCOMPARE(taken.tensor.id, w.read().id());
    QCOMPARE(world.count(), count);
    // It is recorded as any other assignment: what comes of it can be looked at and changed.
    const auto assignment = world.recorder.data_flow().assignment_of(w.read().id());
    QVERIFY(assignment && assignment->variable == w.id());
    const Tensor later = ops::negative(w.read());
    QCOMPARE(world.value(world.make({element_becomes(w.read(), {1}, 0)}), later),
             (std::vector<double>{-30, 0}));
    QVERIFY_EXCEPTION_THROWN(take(later.id()), ValueError);  // no variable
    const std::uint64_t gone = [] {
      Variable short_lived(floats({1}), "v");
      return short_lived.read().id();
    }();
    QVERIFY_EXCEPTION_THROWN(take(gone), ValueError);
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

  void that_the_vjp_of_a_changed_op_stays_is_told() {
    World world;
    const Tensor x = floats({-1, 2});
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = ops::reduce_sum(ops::square(x));  // ops 1 and 2
    tape.stop();
    tape.gradient(std::span(&y, 1), std::span(&x, 1));
    const std::string told = world.make({op_becomes(ChangeKind::skip, 1)}).sentence;
    QVERIFY2(told.find("The VJP of square (op ") != std::string::npos, told.c_str());
    QVERIFY2(told.ends_with("is still that of op 1 as it was, so gradients through it are not those of a "
                            "program with this change."),
             told.c_str());
    const std::string element = world.make({element_becomes(x, {0}, 5)}).sentence;
    QVERIFY2(element.find("VJP") == std::string::npos, element.c_str());
  }

  void a_branch_lets_go_what_its_ops_no_longer_take_and_refuses_what_passes_its_limit() {
    World world;
    constexpr std::uint64_t megabyte = 1 << 20;
    const Tensor x = ramp(megabyte / 4 / 8);  // a quarter of it
    Tensors chain{x};
    for (int i = 0; i < 20; ++i) chain.push_back(ops::negative(chain.back()));
    Tensor together = chain.back();
    for (int i = 20; i-- > 2;) together = ops::add(together, chain[static_cast<std::size_t>(i)]);
    Change change;
    change.kind = Change::Kind::element;
    change.tensor = x.id();
    change.number = 7;
    Branch narrow(world.recorder, {change}, {0, megabyte});
    QCOMPARE(narrow.value(chain.back().id(), world.original).to_vector()[0], 7.0);
    try {
      narrow.value(together.id(), world.original);
      QFAIL("twenty values were held at one moment");
    } catch (const ValueError& error) {
      QCOMPARE(error.code, std::string("too_expensive"));
      QVERIFY2(QString(error.what()).contains("takes more than 1.0 MiB of memory"), error.what());
    }
    QCOMPARE(narrow.value(chain[19].id(), world.original).to_vector()[0], -7.0);
    Branch wide(world.recorder, {change}, {0, 16 * megabyte});
    for (int look = 0; look < 2; ++look)
      QCOMPARE(wide.value(together.id(), world.original).to_vector()[0], 7.0);
    QCOMPARE(wide.value(together.id(), world.original).to_vector()[1], together.to_vector()[1]);
  }

  void an_assignment_that_was_forgotten_is_told() {
    World world;
    Variable w(floats({1, 2}), "w"), other(floats({0}), "other");
    const Tensor x = floats({3, 4}), zero = floats({0});
    w.assign(ops::square(x));
    const Tensor y = ops::negative(w.read());
    const Branched known = world.make({element_becomes(x, {0}, 5)});
    QCOMPARE(known.depending, std::uint64_t{2});
    QVERIFY(known.complete);
    world.recorder.data_flow().set_most_bytes(0);  // of a program that assigns for ever
    for (int i = 0; i < 1 << 18; ++i) other.assign(zero);
    const Branched cut = world.make({element_becomes(x, {0}, 5)});
    QCOMPARE(cut.depending, std::uint64_t{1});
    QVERIFY(!cut.complete);
    QVERIFY2(cut.sentence.find("There may be more") != std::string::npos, cut.sentence.c_str());
    // What was there before the change cannot depend on it, whatever is known of it.
    const Tensor late = floats({1, 1});
    const Tensor z = ops::multiply(late, w.read());
    const Branched whole = world.make({element_becomes(late, {0}, 5)});
    QVERIFY2(whole.complete && whole.sentence.find("more") == std::string::npos, whole.sentence.c_str());
    QCOMPARE(world.value(whole, z), (std::vector<double>{45, 16}));
  }

  void a_record_that_was_forgotten_is_told() {
    RecorderOptions options;
    options.record_limit = 1;  // one chunk: the least that it keeps
    World world(options);
    const Tensor x = floats({3, 4});
    const Tensor square = ops::square(x);
    for (int i = 0; i < 150'000; ++i) ops::negative(floats({1}));
    const Tensor y = ops::add(x, square);
    const Branched branch = world.make({element_becomes(x, {0}, 5)});
    QCOMPARE(branch.depending, std::uint64_t{1});
    QVERIFY(!branch.complete);
    QVERIFY2(branch.sentence.find("There may be more") != std::string::npos, branch.sentence.c_str());
    QCOMPARE(world.value(branch, y), (std::vector<double>{14, 20}));
  }

  void a_client_asks_over_its_socket() {
    Served served;
    const Tensor x = floats({1, 2, 3});
    const Tensor y = ops::square(x);
    RawClient client = served.client();
    client.greet();
    const auto branch = client.ask<Branched>(MakeBranch{{element_becomes(x, {2}, 10)}, {}});
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
    QCOMPARE(client.ask<BranchPreviews>(GetBranchPreviews{branch.branch, false, {y.id()}}).previews,
             (std::vector<std::optional<std::string>>{"[ 1. 4. 100.]"}));
    Variable w(floats({1}), "w");
    const auto other = client.ask<Branched>(MakeBranch{{element_becomes(w.read(), {0}, 7)}, {}});
    served.recorder.begin_cell("one");
    QCOMPARE(client.ask<Failure>(TakeOver{other.branch, w.read().id()}).code, std::string("running"));
    QCOMPARE(w.read().to_vector(), (std::vector<double>{1}));
    served.recorder.end_cell();
    QCOMPARE(client.ask<TakenOver>(TakeOver{other.branch, w.read().id()}).variable, std::string("w:0"));
    QCOMPARE(w.read().to_vector(), (std::vector<double>{7}));
    client.ask<Status>(DropBranch{branch.branch});
    QCOMPARE(client.ask<Failure>(get).code, std::string("gone"));
  }
};

TAPEDECK_TEST(TestWhatIf)
#include "tst_what_if.moc"
