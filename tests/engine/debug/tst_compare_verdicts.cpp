// What a comparison may say: that inputs agree, that all of it agrees, and what it leaves out.
#include <QTemporaryDir>
#include <QtTest>

#include "engine/data/safetensors.h"
#include "tests/engine/debug/compared_ports.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;
using namespace compared;
using namespace foreign_records;

namespace {

constexpr const char *empty_schema = "aten::empty.memory_format(SymInt[] size) -> Tensor",
                     *uniform_schema =
                         "aten::uniform_(Tensor(a!) self, float from=0, float to=1) -> Tensor(a!)",
                     *copy_schema = "aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)",
                     *mul_schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
                     *sum_schema = "aten::sum(Tensor self) -> Tensor",
                     *ones_like_schema = "aten::ones_like(Tensor self) -> Tensor";

template <class Computes>
Tensor quietly(Computes&& computes) {
  const QuietScope quiet;
  return computes();
}

std::vector<data::NamedTensor> plain(std::vector<data::NamedTensor> tensors) {
  const QuietScope quiet;
  for (data::NamedTensor& one : tensors) one.tensor = one.tensor.make_contiguous();
  return tensors;
}

/// One dense layer with a relu behind it, and its backward pass, in the engine's own ops.
struct Trained {
  Tensor x = numbers({2, 3}, -1), kernel = numbers({3, 3}, -2);

  ComparedSide original(Runs& runs) const {
    return runs.run([&] {
      Variable w(another(kernel), "fc/kernel");
      Tape tape;
      tape.start();
      Tensor y;
      {
        const NameScope scope("fc");
        y = ops::matmul(another(x), w.read());
      }
      const Tensor loss = ops::reduce_sum(ops::square(y));
      const Tensor source = w.read();
      tape.gradient(std::span(&loss, 1), Tensors{source});
    });
  }
  /// `factor`: of the loss; without `arrives` no gradient reaches the weight.
  ComparedSide port(Runs& runs, float factor, bool arrives) const {
    return runs.run([&] {
      const Tensor weight = another(turned(kernel)), data = another(x);
      const Tensor back = quietly([&] { return ops::transpose(weight); }),
                   y = quietly([&] { return ops::matmul(data, back); }),
                   cotangent = quietly([&] { return ops::multiply(y, Tensor::scalar(2)); }),
                   gradient = quietly([&] { return ops::matmul(cotangent, data, true); }),
                   loss = quietly([&] {
                     return ops::multiply(ops::reduce_sum(ops::square(y)), Tensor::scalar(factor));
                   });
      std::uint64_t forward = 0;
      {
        const NameScope scope("fc");
        report(runs.recorder, t_schema, {weight}, back);
        report(runs.recorder, mm_schema, {data, back}, y);
        forward = runs.count();
      }
      report(runs.recorder, sum_schema, {y}, loss);
      report(runs.recorder, ones_like_schema, {loss}, quietly([&] { return ops::ones_like(loss); }));
      Event playback;
      playback.kind = EventKind::playback;
      playback.name = "gradient";
      playback.inputs = std::span(&loss, 1);
      const std::uint64_t record = runs.recorder.begin(playback);
      report(runs.recorder, mm_schema, {cotangent}, another(cotangent), EventKind::vjp, forward);
      if (arrives) report(runs.recorder, accumulate_schema, {weight, gradient}, {});
      runs.recorder.end(record, {}, nullptr);
    });
  }
};

}  // namespace

class TestCompareVerdicts : public QObject {
  Q_OBJECT

  static FirstDifference first_of(Runs& runs, const ComparedSide& left, const ComparedSide& right) {
    return runs.first(runs.compare(left, right));
  }

 private slots:
  void initTestCase() { set_capture_location(&capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_transposed_activation_of_the_same_shape_differs() {
    Runs runs;
    const Tensor q = numbers({4, 3}, -1), k = numbers({4, 3}, 0.3f);
    const ComparedSide left = runs.run([&] {
      const Tensor a = another(q), b = another(k);
      const NameScope scope("att");
      ops::softmax(ops::matmul(a, b, false, true));
    });
    const ComparedSide right = runs.run([&] {
      const Tensor a = another(k), b = another(turned(q));
      const Tensor scores = quietly([&] { return ops::matmul(a, b); });
      const NameScope scope("att");
      report(runs.recorder, mm_schema, {a, b}, scores);
      report(runs.recorder, softmax_schema, {scores}, quietly([&] { return ops::softmax(scores); }));
    });
    const ComparedLayers found = layers_of_runs(runs, left, right);
    QVERIFY2(contains(found.sentence, ", matmul") && contains(found.sentence, ", aten.mm") &&
                 contains(found.sentence, "equal after transposing the axes 1, 0"),
             found.sentence.c_str());
    QVERIFY2(!contains(found.sentence, "aten._softmax"), found.sentence.c_str());
  }

  void a_square_weight_that_was_not_transposed_is_named_at_its_product() {
    Runs runs;
    const Tensor x = numbers({2, 3}, -1), kernel = numbers({3, 3}, -2);
    const ComparedSide left = runs.run([&] {
      Variable w(another(kernel), "fc/kernel");
      const Tensor data = another(x);
      const NameScope scope("fc");
      ops::matmul(data, w.read());
    });
    const ComparedSide right = runs.run([&] {
      const Tensor weight = another(kernel), data = another(x);
      const Tensor back = quietly([&] { return ops::transpose(weight); });
      const NameScope scope("fc");
      report(runs.recorder, t_schema, {weight}, back);
      report(runs.recorder, mm_schema, {data, back}, quietly([&] { return ops::matmul(data, back); }));
    });
    const ComparedLayers found = layers_of_runs(runs, left, right);
    QVERIFY2(contains(found.sentence, "In it the first op that differs is") &&
                 contains(found.sentence,
                          "its inputs agree only with their axes in another order (b equal after "
                          "transposing the axes 1, 0), its result does not"),
             found.sentence.c_str());
  }

  void weights_of_one_framework_have_their_axes_in_one_order() {
    const QTemporaryDir folder;
    Runs runs;
    const Tensor square = numbers({4, 4}, -1);
    const auto file = [&](const char* name, std::vector<data::NamedTensor> tensors) {
      const std::string path = folder.filePath(name).toStdString();
      data::write_safetensors(path, plain(std::move(tensors)), {});
      return ComparedSide{1, {}, {}, path};
    };
    const ComparedSide weight = file("a.safetensors", {{"fc.weight", square}}),
                       other = file("b.safetensors", {{"fc.weight", turned(square)}}),
                       kernel = file("c.safetensors", {{"fc.kernel", turned(square)}});
    const ComparedLayers differ = layers_of_runs(runs, weight, other);
    QVERIFY2(differ.first && contains(differ.sentence, "equal after transposing the axes 1, 0"),
             differ.sentence.c_str());
    // Keras keeps the transpose of what PyTorch keeps.
    const ComparedLayers agree = layers_of_runs(runs, weight, kernel);
    QVERIFY2(!agree.first && agree.complete, agree.sentence.c_str());
    QCOMPARE(find_part(agree, LayerRole::value)->tensors.layout.value_or(""),
             std::string("after transposing the axes 1, 0"));
  }

  void the_loss_is_compared_and_not_the_gradient_that_it_begins_with() {
    Runs runs;
    const Trained model;
    const ComparedSide left = model.original(runs);
    const ComparedLayers same = layers_of_runs(runs, left, model.port(runs, 1, true));
    QVERIFY2(!same.first && same.complete, same.sentence.c_str());
    const ComparedLayerPart* loss = find_part(same, LayerRole::output, "loss");
    QVERIFY(loss);
    QCOMPARE(loss->tensors.values, Agreement::agree);
    const ComparedLayers differ = layers_of_runs(runs, left, model.port(runs, 3, true));
    QVERIFY2(differ.sentence.starts_with(
                 "All other compared outputs agree. The loss differs: it differs in 1 of 1 "
                 "element"),
             differ.sentence.c_str());
    QVERIFY2(contains(differ.sentence, "aten.sum"), differ.sentence.c_str());
  }

  void a_gradient_that_one_side_lacks_is_a_difference() {
    Runs runs;
    const Trained model;
    const ComparedLayers found = layers_of_runs(runs, model.original(runs), model.port(runs, 1, false));
    QVERIFY2(
        contains(found.sentence, "The first gradient that differs, backwards, is the gradient of kernel") &&
            contains(found.sentence, ": the right side has none."),
        found.sentence.c_str());
    QCOMPARE(find_part(found, LayerRole::value_gradient)->tensors.values, Agreement::differ);
  }

  void weights_without_a_counterpart_are_counted() {
    Runs runs;
    const Tensor x = numbers({2, 3}, -1), kernel = numbers({3, 4}, -2), bias = numbers({4}, 0);
    const auto original = [&](bool with_bias) {
      return runs.run([&] {
        Variable w(another(kernel), "fc/kernel"), b(another(bias), "fc/bias");
        const Tensor data = another(x);
        const NameScope scope("fc");
        const Tensor y = ops::matmul(data, w.read());
        if (with_bias) ops::add(y, b.read());
      });
    };
    const ComparedLayers found = layers_of_runs(runs, original(true), original(false));
    QVERIFY2(!found.complete && contains(found.sentence,
                                         "1 weight of the left side has no counterpart and could not "
                                         "be compared."),
             found.sentence.c_str());
    QCOMPARE(find_part(found, LayerRole::value, "bias")->tensors.problem.value_or(""),
             std::string("the right side has none"));
    const ComparedLayers nothing = layers_of_runs(runs, original(true), runs.run([&] {
      const NameScope scope("other");
      ops::negative(numbers({7}, 0));
    }));
    QVERIFY2(!nothing.complete && nothing.sentence.starts_with("Nothing could be compared"),
             nothing.sentence.c_str());
  }

  void what_lies_in_a_layer_is_compared_with_its_counterpart() {
    Runs runs;
    const Tensor x = numbers({2, 3}, -1), kernel = numbers({3, 3}, -2), bias = numbers({3}, 0.5f);
    const ComparedSide left = runs.run([&] {
      for (const char* name : {"fc0", "fc1"}) {
        Variable w(another(kernel), std::string(name) + "/kernel"),
            b(another(bias), std::string(name) + "/bias");
        const Tensor data = another(x);
        const NameScope scope(name);
        ops::relu(ops::add(ops::matmul(data, w.read()), b.read()));
      }
    });
    for (const bool transposed : {true, false}) {
      const ComparedSide right = runs.run([&] {
        for (const char* name : {"fc0", "fc1"}) {
          const Linear linear{"l", another(transposed ? turned(kernel) : kernel), another(bias)};
          const Tensor data = another(x);
          const NameScope scope(name);
          const Tensor h = linear(runs.recorder, data);
          report(runs.recorder, relu_schema, {h}, quietly([&] { return ops::relu(h); }));
        }
      });
      const ComparedLayers found = layers_of_runs(runs, left, right);
      QVERIFY2(found.complete && !contains(found.sentence, "on the left only"), found.sentence.c_str());
      QVERIFY(find_part(found, LayerRole::value, "kernel") && find_part(found, LayerRole::value, "bias"));
      QVERIFY2(found.first.has_value() != transposed, found.sentence.c_str());
      if (!transposed)
        QVERIFY2(
            contains(found.sentence, ", add | op ") && contains(found.sentence, ", aten.addmm (") &&
                contains(found.sentence,
                         "agrees as it is, but a kernel of Keras is the transpose of a weight of PyTorch."),
            found.sentence.c_str());
    }
  }

  void tensors_without_a_layers_name_are_paired_by_shape() {
    const QTemporaryDir folder;
    Runs runs;
    const Tensor x = numbers({2, 3}, -1), kernel = numbers({3, 4}, -2), bias = numbers({4}, 0.5f);
    const ComparedSide left = runs.run([&] {
      Variable w(another(kernel), "fc/kernel"), b(another(bias), "fc/bias");
      const Tensor data = another(x);
      const NameScope scope("fc");
      ops::add(ops::matmul(data, w.read()), b.read());
    });
    const std::string path = folder.filePath("unnamed.safetensors").toStdString();
    data::write_safetensors(path, plain({{"arr_0", turned(kernel)}, {"arr_1", bias}}), {});
    const ComparedLayers found = layers_of_runs(runs, left, {1, {}, {}, path});
    QVERIFY2(
        !found.first && found.complete &&
            contains(found.sentence, "2 tensors of the file without a layer's name were paired by shape"),
        found.sentence.c_str());
    QVERIFY(find_part(found, LayerRole::value, "kernel | arr_0"));
  }

  void what_lies_in_memory_that_was_not_written_is_no_value() {
    Runs runs;
    const auto program = [&](float garbage, float factor) {
      return runs.run([&] {
        at_line(2);
        const Tensor memory = report(runs.recorder, empty_schema, {}, numbers({3}, garbage)),
                     other = report(runs.recorder, empty_schema, {}, numbers({3}, 2 * garbage));
        const Tensor w = report(runs.recorder, uniform_schema, {memory}, numbers({3}, 0.1f));
        at_line(3);
        const Tensor c = report(runs.recorder, copy_schema, {other, w}, another(w));
        at_line(4);
        const Tensor y = quietly([&] { return ops::multiply(c, Tensor::scalar(factor)); });
        report(runs.recorder, mul_schema, {c, w}, y);
      });
    };
    const FirstDifference none = first_of(runs, program(7, 1), program(-9, 1));
    QVERIFY2(none.kind == DifferenceKind::none, none.sentence.c_str());
    const FirstDifference real = first_of(runs, program(7, 1), program(-9, 2));
    QVERIFY2(real.kind == DifferenceKind::op && contains(real.sentence, ", aten.mul.Tensor, cell 3 line 4") &&
                 contains(real.sentence, "its inputs agree"),
             real.sentence.c_str());
  }

  void an_op_that_reads_memory_which_was_not_written_is_the_difference() {
    Runs runs;
    const auto program = [&](float garbage) {
      return runs.run([&] {
        at_line(2);
        const Tensor memory = report(runs.recorder, empty_schema, {}, numbers({3}, garbage));
        at_line(5);
        const Tensor y = quietly([&] { return ops::multiply(memory, Tensor::scalar(2)); });
        report(runs.recorder, mul_schema, {memory, memory}, y);
      });
    };
    const FirstDifference found = first_of(runs, program(7), program(-9));
    QVERIFY2(
        found.kind == DifferenceKind::op && contains(found.sentence, ", aten.mul.Tensor, cell 3 line 5") &&
            contains(found.sentence, ": it reads memory that was never written (op ") &&
            contains(found.sentence,
                     ", aten.empty.memory_format, cell 3 line 2), which holds something else in each run"),
        found.sentence.c_str());
  }

  void two_runs_of_one_framework_are_not_called_two_frameworks() {
    Runs runs;
    const auto program = [&] {
      return runs.run([&] {
        const NameScope scope("fc");
        ops::negative(numbers({3}, 1));
      });
    };
    const ComparedSide left = program(), right = program();
    const QuietScope quiet;
    const Compared made = runs.comparisons.make({left, right, std::string()}, runs.cancel, {});
    QVERIFY2(contains(made.sentence, "by layer and kind") && !contains(made.sentence, "frameworks"),
             made.sentence.c_str());
  }
};

TAPEDECK_TEST(TestCompareVerdicts)
#include "tst_compare_verdicts.moc"
