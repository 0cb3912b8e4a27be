// Replay: what is no longer held is computed again, to the last bit, and within bounds.
#include <QtTest>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "engine/ops/core/ops.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/ops/random/random_state.h"
#include "engine/optim/apply.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_text.h"
#include "engine/tape/variable.h"
#include "engine/tensor/strings.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/same_bits.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

void matmuls_and_reductions() {
  const Tensor a = ops::random_normal({37, 51}), b = ops::random_normal({51, 29});
  const Tensor product = ops::matmul(a, b);
  const Tensor mean = ops::reduce_mean(product, std::vector<std::int64_t>{0}, true);
  const Tensor centred = ops::subtract(product, mean);
  const Tensor gram = ops::matmul(centred, centred, true);
  testing::called("reduce_logsumexp", {ops::tanh(gram)}, {{"axis", std::vector<std::int64_t>{1}}});
  ops::reduce_sum(ops::exp(ops::multiply(gram, gram)));
  testing::called("argmax", {product}, {{"axis", 1}});
}

void random_numbers_and_dtypes() {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor uniform = ops::random_uniform({64, 3}, -1, 1, dtype);
    const Tensor seeded = testing::called(
        "truncated_normal", {},
        {{"shape", std::vector<std::int64_t>{64, 3}}, {"stddev", 2.0}, {"dtype", dtype}, {"seed", 7}});
    ops::cast(ops::multiply(uniform, seeded), DType::int64);
    ops::greater(uniform, seeded);
  }
}

void strings_and_complex_numbers() {
  const auto& registry = Registry::instance();
  std::vector<std::string> values;
  for (int i = 0; i < 60; ++i) values.push_back("row " + std::to_string(i * i) + std::string(i % 23, 'x'));
  const Tensor words = ops::reshape(string_tensor({60}, values), {12, 5});
  const Tensor upper = run_op1(*registry.find("string_upper"), {words}, Attributes{std::string()});
  const Tensor joined = run_op1(*registry.find("string_join"), {upper, words}, Attributes{std::string(", ")});
  ops::reshape(ops::transpose(joined), {60});
  const Tensor z = ops::complex(ops::random_normal({16, 8}), ops::random_normal({16, 8}));
  const Tensor turned = ops::multiply(z, ops::conj(z));
  ops::add(ops::exp(turned), z);
}

void views_of_other_tensors() {
  const Tensor a = ops::random_normal({24, 18});
  const Tensor turned = ops::transpose(a);
  const Tensor reshaped = ops::reshape(turned, {9, 48});
  ops::reduce_sum(ops::reverse(reshaped, {1}), std::vector<std::int64_t>{0});
  for (const Tensor& part : ops::split(turned, {3})) ops::matmul(part, a, false, false);
  ops::matmul(turned, a);
  const Tensors rows = ops::unstack(reshaped);
  ops::concat({rows.data(), rows.size()}, 0);
}

Tensor noisy_square(const Tensor& x) {
  const Tensors inputs{x};
  return custom_gradient("noisy_square", {inputs.data(), inputs.size()}, [&] {
    return CustomResult{{ops::square(x)}, [x](std::span<const Tensor> cotangents) -> Tensors {
                          const Tensor noise = ops::random_normal(x.shape(), 0, 0.1, x.dtype());
                          return {ops::multiply(cotangents[0], ops::add(ops::add(x, x), noise))};
                        }};
  })[0];
}

void custom_gradients() {
  const Tensor x = ops::random_normal({40});
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensor y = ops::reduce_sum(noisy_square(ops::sin(x)));
  gradient(tape, y, x);
}

void a_custom_gradient_that_returns_its_input() {
  const Tensor x = ops::random_normal({40});
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensors inputs{x};
  const Tensor y = custom_gradient("pass", {inputs.data(), inputs.size()}, [&] {
    return CustomResult{{x}, [](std::span<const Tensor> cotangents) -> Tensors { return {cotangents[0]}; }};
  })[0];
  gradient(tape, ops::multiply(y, y), x);
}

void second_derivatives() {
  const Tensor x = ops::random_normal({30}, 0, 1, DType::float64);
  Tape outer(true);
  outer.start();
  outer.watch(x);
  Tensor first;
  {
    Tape inner;
    inner.start();
    inner.watch(x);
    first = gradient(inner, ops::reduce_sum(ops::multiply(ops::tanh(x), ops::exp(ops::sin(x)))), x);
  }
  gradient(outer, ops::reduce_sum(ops::square(first)), x);
}

void training() {
  const Tensor images = ops::random_uniform({50, 20}), wanted = ops::random_uniform({50, 4});
  Variable weights(ops::random_normal({20, 4}, 0, 0.1), "weights"), bias(ops::zeros({4}), "bias");
  const Tensor rate = Tensor::scalar(0.1);
  for (int step = 0; step < 5; ++step) {
    Tape tape;
    tape.start();
    const Tensor prediction = ops::sigmoid(ops::add(ops::matmul(images, weights.read()), bias.read()));
    const Tensor loss = ops::reduce_mean(ops::squared_difference(prediction, wanted));
    Variable variables[] = {weights, bias};
    const Tensors gradients = tape.gradient(std::span(&loss, 1), std::span<const Variable>(variables));
    for (std::size_t i = 0; i < 2; ++i)
      variables[i].assign(ops::subtract(variables[i].read(), ops::multiply(rate, gradients[i])));
  }
}

void optimisers() {
  std::vector<Variable> dense, rows;
  for (int i = 0; i < 3; ++i) dense.emplace_back(ops::abs(ops::random_normal({40, 3})));
  for (int i = 0; i < 3; ++i) rows.emplace_back(ops::abs(ops::random_normal({40, 3})));
  Tensors numbers;
  for (const double number : {0.1, 0.9, 0.999, 1e-7, 0.01})
    numbers.push_back(Tensor::scalar(number, DType::float64));
  for (int step = 0; step < 4; ++step) {
    Tensors others{ops::random_normal({40, 3})}, of_rows{ops::random_normal({5, 3})};
    of_rows.push_back(Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{3, 1, 39, 3, 3}, {5}));
    others.insert(others.end(), numbers.begin(), numbers.end());
    of_rows.insert(of_rows.end(), numbers.begin(), numbers.end());
    apply_update(*Registry::instance().find("adam"), dense, others);
    apply_update(*Registry::instance().find("sparse_adam"), rows, of_rows);
  }
}

RecorderOptions forgetful() {
  RecorderOptions options;
  options.keeping.window_bytes = 1;
  options.keeping.checkpoint_ns = ~std::uint64_t{0};
  options.keeping.recomputed_bytes = 0;
  return options;
}

/// Pushes what was recorded before out of the window and out of the small results.
void forget_results() {
  const Tensor one = test_ops::scalar(1);
  for (int i = 0; i < 70000; ++i) test_ops::multiply(one, one);
  test_ops::multiply(ramp(100), ramp(100));
}

std::string code_of_refusal(Recorder& recorder, std::uint64_t id, const ReplayLimits& limits = {}) {
  try {
    find_value(recorder, id, limits);
    return {};
  } catch (const ValueError& error) {
    return error.code;
  }
}

using Program = void (*)();

std::atomic<int> counted_runs{0};
Tensor counted(const Tensor& x) {
  static const OpDef& op = test_ops::op_named(
      "test_counted",
      test_ops::unary(
          [](const OpContext& call) -> Tensors {
            ++counted_runs;
            const auto values = call.inputs[0].to_vector();
            return {test_ops::fill(call.outputs[0], [&](std::size_t i) { return values[i] + 1; })};
          },
          nullptr));
  return run_op1(op, {x});
}

std::atomic<int> slow_milliseconds{0};
Tensor slow(const Tensor& x) {
  static const OpDef& op = test_ops::op_named(
      "test_slow_replay",
      test_ops::unary(
          [](const OpContext& call) -> Tensors {
            std::this_thread::sleep_for(std::chrono::milliseconds(slow_milliseconds));
            const auto values = call.inputs[0].to_vector();
            return {test_ops::fill(call.outputs[0], [&](std::size_t i) { return values[i]; })};
          },
          nullptr));
  return run_op1(op, {x});
}

}  // namespace

Q_DECLARE_METATYPE(Program)

class TestReplay : public QObject {
  Q_OBJECT
 private slots:
  void recomputed_values_have_the_bits_of_kept_ones_data() {
    QTest::addColumn<Program>("program");
    QTest::newRow("matmul and reductions") << Program(&matmuls_and_reductions);
    QTest::newRow("random numbers and dtypes") << Program(&random_numbers_and_dtypes);
    QTest::newRow("strings and complex numbers") << Program(&strings_and_complex_numbers);
    QTest::newRow("views") << Program(&views_of_other_tensors);
    QTest::newRow("custom gradients") << Program(&custom_gradients);
    QTest::newRow("custom gradient that returns its input")
        << Program(&a_custom_gradient_that_returns_its_input);
    QTest::newRow("second derivatives") << Program(&second_derivatives);
    QTest::newRow("training") << Program(&training);
    QTest::newRow("optimisers") << Program(&optimisers);
  }
  void recomputed_values_have_the_bits_of_kept_ones() {
    QFETCH(Program, program);
    Recording recording(forgetful());
    recording.recorder.values().set_keep_everything(true);
    program();
    std::map<std::uint64_t, Tensor> kept;
    std::size_t mentioned = 0;
    for (std::uint32_t i = 1; i <= recording.count(); ++i) {
      RecordView view;
      QVERIFY(recording.recorder.trace().read(i, view));
      for (const TensorIds* ids : {&view.inputs, &view.outputs})
        for (const std::uint64_t id : *ids) {
          if (id == 0) continue;
          ++mentioned;
          kept[id] = recording.recorder.values().held(id);
          QVERIFY2(kept[id], qPrintable(QString("tensor %1 of record %2").arg(id).arg(i)));
        }
    }
    QVERIFY(mentioned > 5);
    recording.recorder.values().set_keep_everything(false);
    forget_results();
    const std::uint32_t records = recording.count();
    int recomputed = 0;
    for (const auto& [id, value] : kept) {
      const FoundValue found = find_value(recording.recorder, id);
      recomputed += found.recomputed;
      QVERIFY2(same_bits(found.value, value), qPrintable(QString("tensor %1").arg(id)));
    }
    QVERIFY(recomputed > 3);
    QCOMPARE(recording.count(), records);  // nobody recorded the replay
  }

  void a_held_value_is_not_recomputed() {
    Recording recording;
    const Tensor x = ramp(100);
    const Tensor y = test_ops::multiply(x, x);
    const FoundValue found = find_value(recording.recorder, y.id());
    QVERIFY(!found.recomputed && found.value.storage().get() == y.storage().get());
  }

  void each_op_runs_once_however_often_its_result_is_used() {
    Recording recording(forgetful());
    Tensor value = counted(ramp(100));
    for (int i = 0; i < 30; ++i) value = test_ops::add(value, value);  // 2^30 ways back
    const std::uint64_t id = value.id();
    value = Tensor();
    forget_results();
    counted_runs = 0;
    QCOMPARE(find_value(recording.recorder, id).value.to_vector()[0], 1.5 * double(1 << 30));
    QCOMPARE(counted_runs.load(), 1);
  }

  void a_long_chain_needs_no_deep_stack() {
    Recording recording(forgetful());
    Tensor value = ramp(9);
    const double first = value.to_vector()[0];
    const Tensor one = test_ops::vector_of({1, 1, 1, 1, 1, 1, 1, 1, 1});
    constexpr int steps = 100'000;
    for (int i = 0; i < steps; ++i) value = test_ops::add(value, one);
    const std::uint64_t id = value.id();
    value = Tensor();
    test_ops::multiply(ramp(9), ramp(9));
    QCOMPARE(find_value(recording.recorder, id).value.to_vector()[0], first + steps);
  }

  void memory_is_bounded() {
    Recording recording(forgetful());
    Tensor value = ramp(1000);
    for (int i = 0; i < 50; ++i) value = test_ops::multiply(value, value);
    const std::uint64_t id = value.id();
    std::vector<Tensor> fan;
    for (int i = 0; i < 20; ++i) fan.push_back(counted(ramp(1000)));
    Tensor total = fan[0];
    for (const Tensor& part : fan) total = test_ops::add(part, total);
    const std::uint64_t wide = total.id();
    forget_results();
    ReplayLimits limits;
    limits.bytes = 24'000;  // of a chain only a link or two are there at a time
    QCOMPARE(code_of_refusal(recording.recorder, id, limits), std::string());
    QCOMPARE(code_of_refusal(recording.recorder, wide, limits), std::string("too_expensive"));
    limits.bytes = 1'000'000;
    QCOMPARE(code_of_refusal(recording.recorder, wide, limits), std::string());
  }

  void a_long_replay_tells_how_far_it_is() {
    Recording recording(forgetful());
    Tensor value = ramp(100);
    for (int i = 0; i < 12; ++i) value = slow(value);
    const std::uint64_t id = value.id();
    value = Tensor();
    forget_results();
    slow_milliseconds = 60;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
    find_value(recording.recorder, id, {}, nullptr,
               [&](std::uint64_t done, std::uint64_t total) { told.emplace_back(done, total); });
    slow_milliseconds = 0;
    QVERIFY(told.size() >= 2);
    QVERIFY(std::is_sorted(told.begin(), told.end()));
    QCOMPARE(told.back().second, 12u);
    QVERIFY(told.back().first > 0 && told.back().first < 12);
  }

  void checkpoints_keep_replays_short_and_what_was_recomputed_stays() {
    RecorderOptions options;
    options.keeping.window_bytes = 1;
    options.keeping.checkpoint_ns_per_byte = 0;
    options.keeping.checkpoint_ns = 100'000;  // at least 2 µs an op: at most 50 ops
    Recording recording(options);
    Tensor value = ramp(100);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 1000; ++i) ids.push_back((value = counted(value)).id());
    QVERIFY2(recording.recorder.values().checkpoint_count() >= 19,
             qPrintable(QString::number(recording.recorder.values().checkpoint_count())));
    forget_results();
    for (std::size_t at : {std::size_t{998}, std::size_t{500}, std::size_t{10}}) {
      while (recording.recorder.values().held(ids[at])) --at;  // a checkpoint
      counted_runs = 0;
      const double expected = 0.5 + static_cast<double>(at + 1);
      QCOMPARE(find_value(recording.recorder, ids[at]).value.to_vector()[0], expected);
      QVERIFY2(counted_runs <= 50, qPrintable(QString::number(counted_runs)));
      // The ones before it are what somebody who steps back looks at next.
      counted_runs = 0;
      QCOMPARE(find_value(recording.recorder, ids[at - 1]).value.to_vector()[0], expected - 1);
      QCOMPARE(counted_runs.load(), 0);
    }
  }

  void a_replay_can_be_cancelled() {
    Recording recording(forgetful());
    const std::uint64_t id = test_ops::multiply(ramp(100), ramp(100)).id();
    forget_results();
    CancelFlag cancel{true};
    QVERIFY_THROWS_EXCEPTION(Cancelled, find_value(recording.recorder, id, {}, &cancel));
  }

  void values_that_are_gone_say_which_leaf_is_missing() {
    RecorderOptions options = forgetful();
    options.keeping.budget_bytes = 2000;
    Recording recording(options);
    const Tensor x = ramp(200);
    const std::uint64_t id = test_ops::multiply(x, x).id();
    test_ops::multiply(ramp(200), ramp(200));
    try {
      find_value(recording.recorder, id);
      QFAIL("its leaf had to go");
    } catch (const ValueError& error) {
      QCOMPARE(error.code, std::string("gone"));
      QCOMPARE(
          std::string(error.what()),
          std::string("The value of a constant (float64 (200,)) is gone: no op made it, and it was dropped "
                      "when the recording exceeded its budget."));
    }
    QCOMPARE(code_of_refusal(recording.recorder, 1234567890), std::string("no_such_tensor"));
  }

  void tensors_are_called_as_users_know_them() {
    Recording recording(forgetful());
    const Tensor x = ramp(3), y = test_ops::multiply(x, x);
    const Tensor w = ramp(2);
    recording.recorder.leaf(w, "W:0");
    const Recorder& recorder = recording.recorder;
    QCOMPARE(tensor_text(recorder, w.id()), std::string("W:0 (float64 (2,))"));
    QCOMPARE(tensor_text(recorder, x.id()), std::string("a constant (float64 (3,))"));
    QCOMPARE(tensor_text(recorder, y.id()), "the output of " + recording.at(1).op + ", op 1 (float64 (3,))");
    recording.recorder.leaf(y, "mean");
    QCOMPARE(tensor_text(recorder, y.id()), std::string("mean (float64 (3,))"));
    QCOMPARE(tensor_text(recorder, 123456789), std::string("a tensor that no record mentions"));
  }

  void values_of_forgotten_records_are_gone() {
    RecorderOptions options = forgetful();
    options.record_limit = 10000;
    Recording recording(options);
    const std::uint64_t id = test_ops::multiply(ramp(200), ramp(200)).id();
    forget_results();
    QCOMPARE(code_of_refusal(recording.recorder, id), std::string("gone"));
  }

  void values_can_be_had_while_the_session_runs_on() {
    Recording recording(forgetful());
    const Tensor x = ops::random_normal({100});
    const Tensor wanted = ops::matmul(ops::reshape(x, {10, 10}), ops::reshape(x, {10, 10}));
    const std::uint64_t id = wanted.id();
    std::atomic<bool> done{false};
    std::thread session([&] {
      while (!done) test_ops::multiply(ramp(100), ramp(100));
    });
    bool same = true;
    for (int i = 0; i < 200; ++i) same = same && same_bits(find_value(recording.recorder, id).value, wanted);
    done = true;
    session.join();
    QVERIFY(same);
  }
};

TAPEDECK_TEST(TestReplay)
#include "tst_replay.moc"
