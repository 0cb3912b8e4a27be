// What variables had: held as the newest, in generations, and computed again from there to the last bit.
#include <QTemporaryDir>
#include <QtTest>
#include <vector>

#include "engine/ops/core/ops.h"
#include "engine/optim/apply.h"
#include "engine/record/replay/replay.h"
#include "engine/tape/variable.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

constexpr std::int64_t never = std::int64_t{1} << 60;
constexpr std::int64_t count = 1000;  // elements: too many for a copy

RecorderOptions options_with(std::int64_t versions_ns) {
  RecorderOptions options;
  options.keeping.versions = {.interval_ns = versions_ns, .ns_per_byte = 0};
  options.keeping.checkpoint_ns = std::uint64_t{1} << 60;
  return options;
}

Tensor bits_of(const Tensor& tensor) {
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  std::memcpy(copy.writable_data<std::byte>(), tensor.raw(), tensor.bytes());
  return copy;
}

/// w ← Adam on the gradient of mean(tanh(w · x)²), and what w was after each step.
struct Training {
  Training() {
    for (const double number : {0.1, 0.9, 0.999, 1e-7, 0.0})
      numbers.push_back(Tensor::scalar(number, DType::float64));
  }
  void step() {
    Tensors others;
    {
      Tape tape;
      tape.start();
      const Tensor w = targets[0].read();
      const Tensor loss = ops::reduce_mean(ops::square(ops::tanh(ops::multiply(w, x))));
      tape.stop();
      others.push_back(gradient(tape, loss, w));
    }
    for (const Tensor& number : numbers) others.push_back(number);
    apply_update(*Registry::instance().find("adam"), targets, others);
  }
  void steps(int number) {
    for (int i = 0; i < number; ++i) {
      step();
      const Tensor w = targets[0].peek();
      ids.push_back(w.id());
      values.push_back(bits_of(w));
    }
  }
  const std::byte* memory() const { return targets[0].peek().raw(); }

  Tensor x = ops::random_normal({count});
  std::vector<Variable> targets{Variable(ops::random_normal({count}), "w"),
                                Variable(ops::zeros({count}), "m"), Variable(ops::zeros({count}), "v")};
  Tensors numbers;
  std::vector<std::uint64_t> ids;
  Tensors values;
};

KeptValue some_value() {
  const Tensor tensor = ops::zeros({count});
  return {tensor, spec_number(tensor)};
}

std::uint64_t bytes_of_one() {
  return some_value().bytes();
}

}  // namespace

class VersionsTest : public QObject {
  Q_OBJECT

 private slots:
  void the_newest_of_each_is_held_until_the_next() {
    Versions versions({.interval_ns = never});
    Versions::Released released;
    versions.add({10, 9, 1}, some_value(), 0, false, released);  // the first generation
    versions.add({12, 11, 1}, some_value(), 1, false, released);
    versions.add({14, 13, 2}, some_value(), 2, false, released);
    QVERIFY(released.empty());
    QCOMPARE(versions.bytes(), 3 * bytes_of_one());
    versions.add({16, 15, 1}, some_value(), 3, false, released);
    QCOMPARE(released.size(), std::size_t{1});
    QVERIFY(versions.held(10) && !versions.held(12) && versions.held(14) && versions.held(16));
    // By what it was made of, too, and as that.
    QCOMPARE(versions.held(15).id(), std::uint64_t{15});
    QVERIFY(!versions.held(11));
    versions.release_newest(2, released);  // of a generation
    versions.release_newest(1, released);
    QVERIFY(versions.held(14) && !versions.held(16) && !versions.held(15));
    versions.variable_gone(1, released);
    QVERIFY(versions.held(10));
    QCOMPARE(versions.bytes(), 2 * bytes_of_one());
  }

  void a_generation_has_each_variable_once_and_comes_after_its_time() {
    Versions versions({.interval_ns = 100});
    Versions::Released released;
    std::uint64_t id = 0;
    const auto add = [&](std::uint64_t variable, std::int64_t now_ns) {
      id += 2;
      versions.add({id, id - 1, variable}, some_value(), now_ns, false, released);
      return id;
    };
    const std::uint64_t first = add(1, 0), second = add(2, 1);
    for (int i = 0; i < 5; ++i) add(1, 50 + i), add(2, 50 + i);
    const std::uint64_t third = add(1, 100), fourth = add(2, 170);
    for (int i = 0; i < 5; ++i) add(1, 180 + i), add(2, 180 + i);
    QCOMPARE(versions.ids(), (std::vector<std::uint64_t>{first, second, third, fourth, id - 2, id}));
    // What must stay does so at any time.
    const std::uint64_t stepped = id += 2;
    versions.add({stepped, id - 1, 1}, some_value(), 190, true, released);
    add(1, 191);
    QVERIFY(versions.held(stepped));
  }

  void generations_cost_a_share_of_the_time() {
    Versions versions({.ns_per_byte = 1});
    Versions::Released released;
    const auto size = static_cast<std::int64_t>(bytes_of_one());
    for (std::int64_t i = 0; i < 100; ++i)
      versions.add({static_cast<std::uint64_t>(2 * i + 2), static_cast<std::uint64_t>(2 * i + 1), 1},
                   some_value(), i * size / 10, false, released);
    QCOMPARE(versions.ids().size(), std::size_t{11});  // one in ten, and the newest
  }

  void most_generations_take_the_place_of_older_ones() {
    const auto size = static_cast<std::int64_t>(bytes_of_one());
    Versions versions({.ns_per_byte = 1, .free_bytes = 4 * size, .fresh_ns_per_byte = 8});
    std::size_t generations = 0;
    for (std::int64_t i = 0; i < 400; ++i) {
      Versions::Released released;
      versions.add({static_cast<std::uint64_t>(2 * i + 2), static_cast<std::uint64_t>(2 * i + 1), 1},
                   some_value(), i * size, false, released);
      QVERIFY(static_cast<std::int64_t>(versions.bytes()) <= (i / 8 + 6) * size);
      generations = versions.ids().size();
    }
    QVERIFY(generations >= 49);
  }

  void a_value_that_stays_the_newest_is_held_when_its_generation_goes() {
    Versions versions({.interval_ns = 10});
    Versions::Released released;
    versions.add({2, 1, 1}, some_value(), 0, false, released);
    versions.add({12, 11, 2}, some_value(), 10, false, released);  // it is not assigned to again
    for (std::uint64_t step = 2; step < 20; ++step)
      versions.add({10 * step + 2, 10 * step + 1, 1}, some_value(), static_cast<std::int64_t>(step) * 10,
                   false, released);
    while (versions.thin(released)) {
    }
    QCOMPARE(versions.ids(), (std::vector<std::uint64_t>{2, 12, 192}));
    QCOMPARE(versions.held(11).id(), std::uint64_t{11});
    QCOMPARE(versions.bytes(), 3 * bytes_of_one());
    versions.release_newest(2, released);
    QVERIFY(!versions.held(12) && !versions.held(11));
    versions.clear(released);
    QCOMPARE(versions.bytes(), std::uint64_t{0});
  }

  void thinned_out_they_are_close_together_where_they_are_new() {
    Versions versions({.interval_ns = 10});
    Versions::Released released;
    constexpr std::uint64_t steps = 400;
    const auto steps_of = [&](std::uint64_t variable) {
      std::vector<std::uint64_t> found;
      for (const std::uint64_t id : versions.ids())
        if (id % 100 == 2 * variable + 2) found.push_back(id / 100);
      return found;
    };
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (std::uint64_t variable = 0; variable < 3; ++variable) {
        const std::uint64_t id = 100 * step + 2 * variable + 2;
        versions.add({id, id - 1, variable + 1}, some_value(), static_cast<std::int64_t>(step) * 10, false,
                     released);
      }
      while (versions.bytes() > 60 * bytes_of_one()) QVERIFY(versions.thin(released));
    }
    const std::vector<std::uint64_t> kept = steps_of(0);
    QVERIFY(kept.size() >= 19);
    QCOMPARE(steps_of(1), kept);
    QCOMPARE(steps_of(2), kept);
    QCOMPARE(kept.front(), std::uint64_t{0});
    QCOMPARE(kept.back(), steps - 1);
    QCOMPARE(kept[kept.size() - 2], steps - 2);
    // The way from one to the next is a part of how long ago that was.
    for (std::size_t i = 1; i + 1 < kept.size(); ++i)
      QVERIFY2(kept[i + 1] - kept[i] <= (steps - kept[i]) * 3 / 4 + 1, qPrintable(QString::number(kept[i])));
    while (versions.thin(released)) {
    }
    QCOMPARE(steps_of(2), (std::vector<std::uint64_t>{0, steps - 1}));
    QCOMPARE(versions.bytes(), 6 * bytes_of_one());
  }

  void every_value_comes_back_to_the_last_bit_data() {
    QTest::addColumn<qint64>("versions_ns");
    QTest::newRow("one generation") << qint64{never};
    QTest::newRow("many") << qint64{200'000};
    QTest::newRow("all") << qint64{0};
  }
  void every_value_comes_back_to_the_last_bit() {
    QFETCH(qint64, versions_ns);
    Recording session(options_with(versions_ns));
    Training training;
    training.steps(60);
    QCOMPARE(session.recorder.values().leaves_dropped(), std::uint64_t{0});
    int recomputed = 0;
    for (std::size_t i = 0; i < training.ids.size(); ++i) {
      const FoundValue found = find_value(session.recorder, training.ids[i]);
      QVERIFY2(same_bits(found.value, training.values[i]), qPrintable(QString::number(i)));
      recomputed += found.recomputed;
    }
    if (versions_ns == 0) QCOMPARE(recomputed, 0);
    if (versions_ns == never) QVERIFY(recomputed > 0);
    // What came of it, too: each step's loss.
    for (std::uint32_t number = 1; number <= session.count(); ++number) {
      const auto record = session.at(number);
      if (record.op == "reduce_mean" && record.outputs.at(0).shape.empty())
        QVERIFY(std::isfinite(find_value(session.recorder, record.outputs[0].id).value.item()));
    }
  }

  void a_file_has_them_too() {
    Recording session(options_with(never));
    Training training;
    training.steps(30);
    const QTemporaryDir folder;
    const std::string path = folder.filePath("run.tapetrace").toStdString();
    trace_file::save(session.recorder, traced::request_for(path));
    const auto file = trace_file::open(path);
    for (std::size_t i = 0; i < training.ids.size(); ++i)
      QVERIFY2(same_bits(find_value(*file, training.ids[i]).value, training.values[i]),
               qPrintable(QString::number(i)));
  }

  void what_is_not_kept_takes_no_memory() {
    Recording session(options_with(never));
    Training training;
    training.steps(3);
    const std::uint64_t before = session.recorder.values().held_bytes();
    training.values.clear();
    training.steps(200);
    training.values.clear();
    const std::uint64_t window = session.recorder.values().options().window_bytes;
    QVERIFY(session.recorder.values().held_bytes() <= before + window + 8 * count * 4);
    training.targets.clear();
    QVERIFY(session.recorder.values().held_bytes() <= before + window + 8 * count * 4);
  }

  void updates_write_over_what_nobody_needs() {
    Recording session(options_with(never));
    Training training;
    training.steps(3);
    const std::byte* const memory = training.memory();
    const std::uint64_t old = training.targets[0].peek().id();
    const Tensor value = bits_of(training.targets[0].peek());
    for (int i = 0; i < 5; ++i) {
      training.step();
      QCOMPARE(training.memory(), memory);
    }
    QVERIFY(same_bits(find_value(session.recorder, old).value, value));
    // Whoever has a handle keeps the value.
    const Tensor handle = training.targets[0].peek();
    const Tensor as_it_was = bits_of(handle);
    training.step();
    QVERIFY(training.memory() != memory);
    QVERIFY(same_bits(handle, as_it_was));
  }

  void nothing_is_written_over_while_somebody_may_look() {
    Recording session(options_with(never));
    Training training;
    training.steps(3);
    const std::byte* const memory = training.memory();
    protocol::Breakpoint breakpoint;
    breakpoint.id = 1;
    breakpoint.kind = protocol::BreakpointKind::op;
    breakpoint.target = "adam";
    breakpoint.condition = "max(out) > 1e30";
    session.recorder.breakpoints().set({{breakpoint}});
    training.step();
    QVERIFY(training.memory() != memory);
    session.recorder.breakpoints().set({});
    training.step();
    const std::byte* const now = training.memory();
    training.step();
    QCOMPARE(training.memory(), now);
  }

  void of_a_generation_nothing_is_written_over() {
    Recording session(options_with(0));
    Training training;
    training.steps(20);
    for (std::size_t i = 0; i < training.ids.size(); ++i) {
      const FoundValue found = find_value(session.recorder, training.ids[i]);
      QVERIFY(!found.recomputed && same_bits(found.value, training.values[i]));
    }
  }

  /// A layer that is trained for a while, and then used for so long that the records of its training go.
  void what_is_still_used_stays_when_its_records_go() {
    RecorderOptions options = options_with(never);
    options.record_limit = 40'000;
    Recording session(options);
    Training training;
    training.steps(10);
    const Tensor w = training.targets[0].peek();
    std::uint64_t newest = 0;
    for (int i = 0; i < 100'000; ++i) {
      const Tensor product = ops::multiply(w, training.x);
      newest = product.id();
    }
    QVERIFY(session.recorder.trace().oldest_kept() > 1000);
    QVERIFY(same_bits(find_value(session.recorder, w.id()).value, training.values.back()));
    QVERIFY(find_value(session.recorder, newest).value);
    // Most of what is known can be had, whatever happened to what came before.
    int gone = 0, asked = 0;
    for (std::uint32_t number = session.recorder.trace().oldest_kept(); number <= session.count();
         number += 997) {
      const auto record = session.at(number);
      ++asked;
      try {
        find_value(session.recorder, record.outputs.at(0).id);
      } catch (const ValueError&) {
        ++gone;
      }
    }
    QVERIFY2(gone == 0, qPrintable(QString("%1 of %2").arg(gone).arg(asked)));
  }

  void a_small_budget_thins_them_out() {
    RecorderOptions options = options_with(0);
    options.keeping.budget_bytes = 200'000;
    Recording session(options);
    Training training;
    training.steps(60);
    QVERIFY(session.recorder.values().held_bytes() <= options.keeping.budget_bytes + 3 * count * 4);
    for (std::size_t i = 0; i < training.ids.size(); ++i)
      QVERIFY(same_bits(find_value(session.recorder, training.ids[i]).value, training.values[i]));
  }
};

TAPEDECK_TEST(VersionsTest)
#include "tst_versions.moc"
