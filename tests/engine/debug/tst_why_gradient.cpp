// Why a gradient is None, or zero, in programs whose answer is known.
#include <QtTest>

#include "tests/engine/debug/inquiry.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Because;
using protocol::Question;
using protocol::Reason;
using protocol::RecordKind;

class TestWhyGradient : public QObject {
  Q_OBJECT

  static void check_swallowed(const Because& because, const std::string& op, double share,
                              const std::string& why) {
    QVERIFY2(!because.reasons.empty(), because.sentence.c_str());
    QCOMPARE(because.reasons[0].role, std::string("swallowed"));
    QCOMPARE(because.reasons[0].op, op);
    QCOMPARE(because.reasons[0].amount.value(), share);
    QVERIFY2(contains(because.sentence, why), because.sentence.c_str());
    QVERIFY(because.complete);
  }

 private slots:
  void a_dead_relu() {
    Inquiry asked;
    const Tensor x = floats({-1, 2, -3, -4});
    const Tensors gradients = gradients_at({x}, [&] {
      return ops::reduce_sum(ops::square(ops::relu(ops::add(x, floats({0, 0, 0, 0})))));
    });
    const Because because = asked.ask(Question::gradient, gradients[0]);
    check_swallowed(because, "relu", 0.75, "relu is flat below zero");
    QCOMPARE(because.reasons[0].operands, (std::vector<std::string>{"features[0] = -1.0"}));
    QCOMPARE(because.amount, std::string("share"));
    QVERIFY(contains(asked.ask(Question::gradient, gradients[0], {1}).sentence, "not zero"));
    check_swallowed(asked.ask(Question::gradient, gradients[0], {2}), "relu", 1, "relu is flat below zero");
    // Asked about the tensor whose gradient it is, the same gradient is meant.
    check_swallowed(asked.ask(Question::gradient, x), "relu", 0.75, "relu is flat below zero");
  }

  void a_weight_behind_a_dead_layer() {
    Inquiry asked;
    const Tensor x = floats({1, 2, 3, 4, 5, 6}, {3, 2}), w = floats({-1, -1, 1, -2}, {2, 2});
    const Tensors gradients =
        gradients_at({w}, [&] { return ops::reduce_sum(ops::relu(ops::matmul(x, w))); });
    QCOMPARE(gradients[0].to_vector()[1], 0.0);
    check_swallowed(asked.ask(Question::gradient, gradients[0]), "relu", 0.5, "relu");
  }

  void a_saturated_sigmoid() {
    Inquiry asked;
    const Tensor x = floats({100, 200});
    const Tensors gradients = gradients_at({x}, [&] { return ops::reduce_sum(ops::sigmoid(x)); });
    check_swallowed(asked.ask(Question::gradient, gradients[0]), "sigmoid", 1, "saturated");
  }

  void a_mask_and_a_choice() {
    Inquiry asked;
    const Tensor x = floats({1, 2, 3, 4});
    const Tensor mask = floats({0, 1, 1, 1});
    const Tensors masked =
        gradients_at({x}, [&] { return ops::reduce_sum(ops::multiply(ops::exp(x), mask)); });
    check_swallowed(asked.ask(Question::gradient, masked[0]), "multiply", 0.25, "mask");
    const Tensors chosen = gradients_at({x}, [&] {
      return ops::reduce_sum(ops::where(ops::greater(x, floats({2, 2, 2, 2})), x, mask));
    });
    check_swallowed(asked.ask(Question::gradient, chosen[0]), "where", 0.5, "chose the other side");
    const Tensors picked = gradients_at({x}, [&] {
      return ops::reduce_sum(
          ops::gather(x, Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{3}, {1})));
    });
    check_swallowed(asked.ask(Question::gradient, picked[0]), "gather", 0.75, "not picked");
  }

  void an_underflow() {
    Inquiry asked;
    const Tensor x = floats({1, 1}), tiny = floats({1e-30F, 1});
    const Tensors gradients =
        gradients_at({x}, [&] { return ops::reduce_sum(ops::multiply(ops::multiply(x, tiny), tiny)); });
    check_swallowed(asked.ask(Question::gradient, gradients[0]), "multiply", 0.5, "underflow");
  }

  void none_says_where_the_path_ends() {
    Inquiry asked;
    const Tensor x = floats({1, 2}), y = floats({3, 4});
    const Tensors gradients =
        gradients_at({x, y}, [&] { return ops::reduce_sum(ops::add(ops::stop_gradient(ops::exp(x)), y)); });
    QVERIFY(!gradients[0]);
    const std::uint32_t playback = asked.newest("gradient", RecordKind::playback);
    for (const Because& because :
         {asked.ask(Question::gradient, x), asked.ask_about(Question::gradient, 0, {}, playback)}) {
      QCOMPARE(because.reasons.at(0).op, std::string("stop_gradient"));
      QCOMPARE(because.reasons[0].role, std::string("stopped"));
      QVERIFY2(contains(because.sentence, "blocks the gradient"), because.sentence.c_str());
    }
    const Tensors rounded = gradients_at({x}, [&] {
      return ops::reduce_sum(ops::cast(ops::cast(ops::exp(x), DType::int32), DType::float32));
    });
    QVERIFY(!rounded[0]);
    QVERIFY(contains(asked.ask(Question::gradient, x).sentence, "integers"));
  }

  void what_is_not_connected_names_its_leaves() {
    Inquiry asked;
    const Tensor x = floats({1, 2}), y = floats({3, 4});
    const Tensors gradients = gradients_at({x}, [&] { return ops::reduce_sum(ops::exp(y)); });
    QVERIFY(!gradients[0]);
    const Because because = asked.ask(Question::gradient, x);
    QVERIFY2(contains(because.sentence, "does not depend on it"), because.sentence.c_str());
    QCOMPARE(because.reasons.at(0).op, std::string("exp"));
  }

  void before_any_playback_there_is_no_gradient() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    ops::exp(x);
    QVERIFY(contains(asked.ask(Question::gradient, x).sentence, "No gradient was asked for"));
    QVERIFY_EXCEPTION_THROWN(asked.ask_about(Question::gradient, 0, {}, 1), debug::BadRequest);
  }

  void a_users_gradient_that_gives_zeros() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    const Tensors inputs{x};
    const Tensors gradients = gradients_at({x}, [&] {
      return ops::reduce_sum(custom_gradient("flat", inputs, [&] {
        return CustomResult{{ops::exp(x)}, [](std::span<const Tensor> cotangents) -> Tensors {
                              return {ops::zeros_like(cotangents[0])};
                            }};
      })[0]);
    });
    check_swallowed(asked.ask(Question::gradient, gradients[0]), "flat", 1, "that the program gave it");
  }
};

TAPEDECK_TEST(TestWhyGradient)
#include "tst_why_gradient.moc"
