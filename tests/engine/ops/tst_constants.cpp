// The scalars of VJPs: made once, never two at a time under one id, and leaves of their own where somebody
// looks.
#include <QtTest>
#include <cmath>
#include <limits>
#include <thread>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;
using ops::constant;

class ConstantsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_constant_is_made_once_while_nobody_holds_it() {
    const std::uint64_t id = constant(0.5, DType::float32).id();
    QCOMPARE(constant(0.5, DType::float32).id(), id);
    QCOMPARE(constant(0.5, DType::float32).item(), 0.5);
    const Tensor held = constant(0.5, DType::float32);
    const Tensor other = constant(0.5, DType::float32);
    QCOMPARE(held.id(), id);
    QVERIFY(other.id() != id);
    QCOMPARE(other.item(), 0.5);
  }

  void a_view_of_it_holds_it_as_well() {
    Tensor view;
    std::uint64_t id = 0;
    {
      const Tensor number = constant(0.25, DType::float64);
      id = number.id();
      view = Tensor::view(number.storage(), DType::float64, {1}, {1}, 0);
    }
    QVERIFY(constant(0.25, DType::float64).id() != id);
    QCOMPARE(view.item(), 0.25);
  }

  void values_and_dtypes_are_kept_apart() {
    QVERIFY(std::signbit(constant(-0.0, DType::float32).item()));
    QVERIFY(!std::signbit(constant(0.0, DType::float32).item()));
    QVERIFY(std::isnan(constant(std::numeric_limits<double>::quiet_NaN(), DType::float64).item()));
    for (int round = 0; round < 2; ++round)
      for (const DType dtype :
           {DType::float32, DType::float64, DType::int64, DType::bfloat16, DType::complex64})
        for (int i = 0; i < 500; ++i) {
          const Tensor number = constant(i, dtype);
          QCOMPARE(number.dtype(), dtype);
          QCOMPARE(number.rank(), 0);
          QCOMPARE(number.item(), dtype == DType::bfloat16 && i > 256 ? number.item() : double(i));
        }
  }

  void threads_have_their_own() {
    const std::uint64_t id = constant(3.5, DType::float32).id();
    Tensor other;
    std::thread([&] {
      other = constant(3.5, DType::float32);
      constant(4.5, DType::float32);
    }).join();
    QVERIFY(other.id() != id);
    QCOMPARE(other.item(), 3.5);  // its thread has ended
    QCOMPARE(constant(3.5, DType::float32).id(), id);
  }

  // A tape knows tensors by their ids: were a constant on it met again, gradients would flow into it.
  void what_a_tape_holds_is_not_given_to_another_call() {
    Tape tape;
    tape.start();
    const Tensor x = test_ops::vector_of({1, 2, 3});
    tape.watch(x);
    const Tensor number = constant(0.125, DType::float64);
    tape.watch(number);
    const Tensor y = ops::reduce_sum(x * 0.125 + x * 0.125);
    tape.stop();
    const Tensors gradients = tape.gradient(std::array{y}, std::array{x, number});
    QCOMPARE(gradients[0].to_vector(), (std::vector<double>{0.25, 0.25, 0.25}));
    QVERIFY(!gradients[1]);
  }

  void where_somebody_records_each_is_a_leaf_of_its_own() {
    Recording session;
    const Tensor x = test_ops::vector_of({1, 2, 3});
    const std::uint32_t before = session.count();
    const Tensor y = x * 0.5, z = x * 0.5;
    const protocol::Record first = session.at(before + 1), second = session.at(before + 2);
    QCOMPARE(first.op, std::string("multiply"));
    QVERIFY(first.inputs[1].id != second.inputs[1].id);
    for (const protocol::Record& record : {first, second}) {
      QCOMPARE(record.inputs[1].preview, std::string("0.5"));
      QCOMPARE(session.recorder.values().held(record.inputs[1].id).item(), 0.5);
      QVERIFY(session.recorder.trace().tensors().get(record.inputs[1].id).is_leaf());
    }
  }
};

TAPEDECK_TEST(ConstantsTest)
#include "tst_constants.moc"
