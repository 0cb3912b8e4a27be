// A port beside its original: layers, weights and gradients of two frameworks, with their axes in any order.
#include <QTemporaryDir>
#include <QtTest>
#include <map>

#include "engine/data/safetensors.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/compare/name_map.h"
#include "tests/engine/debug/compared_ports.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;
using namespace compared;
using namespace foreign_records;

namespace {

/// Two dense layers: the original in the engine's own ops, and its port.
struct Model {
  Tensor x = numbers({2, 3}, -1), kernel = numbers({3, 4}, -2), bias = numbers({4}, 0.5f),
         kernel_1 = numbers({4, 2}, -1), bias_1 = numbers({2}, 0.25f);

  Tensor original(Runs& runs) const {
    Variable w(another(kernel), "sequential/dense/kernel"), b(another(bias), "sequential/dense/bias"),
        w_1(another(kernel_1), "sequential/dense_1/kernel"), b_1(another(bias_1), "sequential/dense_1/bias");
    static_cast<void>(runs);
    at_line(3);
    const auto dense = [](const char* name, const Tensor& y, Variable& weight, Variable& offset) {
      const NameScope scope(name);
      return ops::add(ops::matmul(y, weight.read()), offset.read());
    };
    const Tensor h = ops::relu(dense("sequential/dense", another(x), w, b));
    at_line(5);
    return dense("sequential/dense_1", h, w_1, b_1);
  }
  Tensor port(Runs& runs, const char* first = "fc", const char* second = "out", float wrong = 0) const {
    const Linear fc{first, another(turned(kernel)), another(bias)};
    Tensor second_bias = another(bias_1);
    if (wrong != 0) {
      const QuietScope quiet;
      second_bias = ops::add(second_bias, Tensor::scalar(wrong));
    }
    const Linear out{second, another(turned(kernel_1)), second_bias};
    at_line(13);
    Tensor h = fc(runs.recorder, another(x));
    Tensor r;
    {
      const QuietScope quiet;
      r = ops::relu(h);
    }
    report(runs.recorder, relu_schema, {h}, r);
    at_line(15);
    return out(runs.recorder, r);
  }
};

const ComparedLayerPart* part_of(const ComparedLayer& layer, LayerRole role, std::size_t skip = 0) {
  for (const ComparedLayerPart& part : layer.parts)
    if (part.role == role && skip-- == 0) return &part;
  return nullptr;
}

}  // namespace

class TestComparePorts : public QObject {
  Q_OBJECT

  static ComparedLayers layers(Runs& runs, const Compared& compared, double tolerance = 1e-5) {
    const QuietScope quiet;
    return runs.comparisons.layers({compared.comparison, tolerance, tolerance, {{"train", "cell 3"}}},
                                   runs.original, runs.cancel, {});
  }
  static Compared compare(Runs& runs, const ComparedSide& left, const ComparedSide& right,
                          const std::optional<std::string>& names = {}) {
    const QuietScope quiet;
    return runs.comparisons.make({left, right, names}, runs.cancel, {});
  }

 private slots:
  void initTestCase() { set_capture_location(&capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_faithful_port_agrees_with_its_weights_transposed() {
    Runs runs;
    const Model model;
    const ComparedSide left = runs.run([&] { model.original(runs); });
    const ComparedSide right = runs.run([&] { model.port(runs); });
    const Compared compared = compare(runs, left, right);
    QVERIFY(compared.port);
    QVERIFY2(contains(compared.sentence,
                      "by layer and kind: 2 layers are on both sides, 0 on the left only, 0 on "
                      "the right only."),
             compared.sentence.c_str());
    const ComparedLayers found = layers(runs, compared);
    QVERIFY2(!found.first && found.sentence.starts_with("No compared value differs"), found.sentence.c_str());
    QCOMPARE(found.layers.size(), std::size_t{3});  // outside, dense and dense_1
    const ComparedLayer& dense = found.layers[1];
    QCOMPARE(dense.left.value(), std::string("dense"));
    QCOMPARE(dense.right.value(), std::string("fc"));
    const ComparedLayerPart* output = part_of(dense, LayerRole::output);
    QVERIFY(output);
    QCOMPARE(output->tensors.values, Agreement::agree);
    QVERIFY(!output->tensors.layout);
    bool kernel = false;
    for (const ComparedLayerPart& part : dense.parts)
      if (part.tensors.role.starts_with("kernel")) {
        kernel = true;
        QCOMPARE(part.tensors.values, Agreement::agree);
        QCOMPARE(part.tensors.layout.value_or(""), std::string("after transposing the axes 1, 0"));
      }
    QVERIFY(kernel);
    QVERIFY2(contains(found.sentence, "2 values agree with the axes in another order."),
             found.sentence.c_str());
  }

  void the_first_layer_that_differs_is_named_with_both_lines() {
    Runs runs;
    const Model model;
    const ComparedSide left = runs.run([&] { model.original(runs); });
    const ComparedSide right = runs.run([&] { model.port(runs, "fc", "out", 0.5f); });
    const Compared compared = compare(runs, left, right);
    const ComparedLayers found = layers(runs, compared);
    QCOMPARE(found.layers.at(found.first.value()).left.value(), std::string("dense_1"));
    QVERIFY2(
        found.sentence.starts_with("The first layer whose output differs is dense_1 (on the right out): it "
                                   "differs in 4 of 4 elements, by up to 0.5"),
        found.sentence.c_str());
    QVERIFY2(contains(found.sentence, ", add, cell 3 line 5 | op ") &&
                 contains(found.sentence, ", aten.addmm, cell 3 line 15"),
             found.sentence.c_str());
    const FirstDifference first = runs.first(compared, 1e-5, 1e-5);
    QCOMPARE(first.kind, DifferenceKind::op);
    QCOMPARE(first.sentence, found.sentence);
    QCOMPARE(first.row, found.row);
    // Its row shows what is the same of its operands.
    const ComparedOperands operands = runs.operands(compared, first.row.value(), 1e-5);
    QVERIFY(std::ranges::any_of(operands.operands,
                                [](const ComparedOperand& one) { return one.result && one.differing == 4; }));
  }

  // Else the rows of a layer behind a fault would blame that layer, too: its inputs would all agree.
  void what_a_layer_takes_of_another_is_compared() {
    Runs runs;
    const Model model;
    Model faulty = model;
    faulty.bias = numbers({4}, 1.5f);
    const ComparedSide left = runs.run([&] { model.original(runs); });
    const ComparedSide right = runs.run([&] { faulty.port(runs); });
    const ComparedLayers found = layers(runs, compare(runs, left, right));
    QCOMPARE(found.layers.at(found.first.value()).left.value(), std::string("dense"));
    std::map<std::string, const ComparedLayerPart*> taken;
    for (const ComparedLayer& layer : found.layers)
      for (const ComparedLayerPart& part : layer.parts)
        if (part.tensors.role.starts_with("input from")) taken[layer.left.value()] = &part;
    QCOMPARE(taken.size(), std::size_t(1));
    const ComparedLayerPart& input = *taken.at("dense_1");
    QCOMPARE(input.tensors.role, std::string("input from outside of layers"));  // the relu between them
    QVERIFY(input.role == LayerRole::value && input.tensors.values == Agreement::differ);
    QCOMPARE(input.tensors.left.value().shape, std::vector<std::int64_t>({2, 4}));

    // Where all agrees it counts as no further value.
    const ComparedSide faithful = runs.run([&] { model.port(runs); });
    const ComparedLayers same = layers(runs, compare(runs, left, faithful));
    const ComparedLayerPart* agreeing = find_part(same, LayerRole::value, "input from");
    QVERIFY(agreeing && agreeing->tensors.values == Agreement::agree);
    std::size_t others = 0;
    for (const ComparedLayer& layer : same.layers)
      for (const ComparedLayerPart& part : layer.parts)
        others += !part.tensors.role.starts_with("input from");
    QVERIFY2(contains(same.sentence, "No compared value differs: " + std::to_string(others) + " values of"),
             same.sentence.c_str());
  }

  void gradients_of_weights_and_outputs_are_compared() {
    Runs runs;
    const Model model;
    const auto run_original = [&] {
      return runs.run([&] {
        Variable w(another(model.kernel), "dense/kernel");
        Tape tape;
        tape.start();
        Tensor y;
        {
          const NameScope scope("dense");
          y = ops::matmul(another(model.x), w.read());
        }
        const Tensor loss = ops::reduce_sum(ops::square(y));
        const Tensor source = w.read();
        tape.gradient(std::span(&loss, 1), Tensors{source});
      });
    };
    const auto run_port = [&](float wrong) {
      return runs.run([&] {
        const Tensor weight = another(turned(model.kernel)), x = another(model.x);
        Tensor back, y, cotangent, gradient, loss, one;
        {
          const QuietScope quiet;
          back = ops::transpose(weight);
          y = ops::matmul(x, back);
          cotangent = ops::multiply(y, Tensor::scalar(2));
          gradient = ops::add(ops::matmul(cotangent, x, true), Tensor::scalar(wrong));
          loss = ops::reduce_sum(ops::square(y));
          one = ops::ones_like(loss);
        }
        std::uint64_t forward = 0;
        {
          const NameScope scope("fc");
          report(runs.recorder, t_schema, {weight}, back);
          report(runs.recorder, mm_schema, {x, back}, y);
          forward = runs.count();
        }
        Event playback;
        playback.kind = EventKind::playback;
        playback.name = "gradient";
        playback.inputs = std::span(&loss, 1);
        const std::uint64_t record = runs.recorder.begin(playback);
        report(runs.recorder, mm_schema, {cotangent}, another(cotangent), EventKind::vjp, forward);
        report(runs.recorder, accumulate_schema, {weight, gradient}, {});
        runs.recorder.end(record, {}, nullptr);
      });
    };
    const ComparedSide left = run_original();
    for (const float wrong : {0.0f, 0.5f}) {
      const ComparedLayers found = layers(runs, compare(runs, left, run_port(wrong)));
      const ComparedLayer& dense = found.layers.back();
      const ComparedLayerPart* of_weight = part_of(dense, LayerRole::value_gradient);
      const ComparedLayerPart* of_output = part_of(dense, LayerRole::output_gradient);
      QVERIFY(of_weight && of_output);
      QCOMPARE(of_output->tensors.values, Agreement::agree);
      QCOMPARE(of_weight->tensors.values, wrong == 0 ? Agreement::agree : Agreement::differ);
      if (wrong == 0)
        QCOMPARE(of_weight->tensors.layout.value_or(""), std::string("after transposing the axes 1, 0"));
      else
        QVERIFY2(
            contains(found.sentence, "The first gradient that differs, backwards, is the gradient of kernel"),
            found.sentence.c_str());
    }
  }

  void a_name_map_pairs_what_has_other_names() {
    Runs runs;
    const Model model;
    const ComparedSide left = runs.run([&] { model.original(runs); });
    // Crossed over: by themselves dense would be paired with the layer of its own extents.
    const ComparedSide right = runs.run([&] { model.port(runs, "blocks.0", "blocks.1"); });
    const auto paired = [&](const std::string& names) {
      std::vector<std::string> pairs;
      for (const ComparedLayer& layer : layers(runs, compare(runs, left, right, names)).layers)
        if (layer.left && layer.right && !layer.left->empty())
          pairs.push_back(*layer.left + " " + *layer.right);
      return pairs;
    };
    const std::vector<std::string> straight{"dense 0", "dense_1 1"}, crossed{"dense 1", "dense_1 0"};
    QCOMPARE(paired("dense = blocks.0\nsequential/dense_1 = blocks/1"), straight);
    QCOMPARE(paired("# the other way round\nblocks.0 = dense_1 # so\n\nblocks.1 = dense"), crossed);
    QCOMPARE(paired(R"({"dense": "blocks.1", "dense_1": "blocks.0"})"), crossed);
    QVERIFY_THROWS_EXCEPTION(debug::BadRequest, paired("dense = blocks.7"));
    try {
      paired("dense = blocks.0\ndense_1 = blocks.7");
      QFAIL("a name that is not there was taken");
    } catch (const debug::BadRequest& error) {
      QCOMPARE(std::string(error.what()),
               std::string(
                   "line 2: the right side has no layer and no value \"blocks/7\". Its layers are: 0, 1."));
    }
  }

  void errors_of_a_name_map_name_the_line() {
    const std::pair<const char*, const char*> wrong[] = {
        {"a = b\nc", "line 2: \"c\" is no pair of names: write \"left/name = right.name\""},
        {"a = b = c", "line 1: \"a = b = c\" has more than one \"=\""},
        {"\n\n = b", "line 3: a name is missing before the \"=\""},
        {"a = ", "line 1: a name is missing behind the \"=\""},
        {"a = b\n\na = c", "line 3: \"a\" has a counterpart already, in line 1"},
        {"{\"a\": \"b\",\n \"c\": 3}", "line 2: for \"c\" is a number, not the name of the other side"},
        {"{\"a\": \"b\",\n", "line 2: this is no JSON object of names: {\"left/name\": \"right.name\"}"}};
    for (const auto& [text, message] : wrong) {
      try {
        debug::parse_name_map(text);
        QFAIL(text);
      } catch (const debug::BadRequest& error) {
        QCOMPARE(std::string(error.what()), std::string(message));
      }
    }
    QCOMPARE(debug::mapped_name(debug::parse_name_map("a = x\na/b = y"), "a/b/c"), std::string("y/c"));
    QCOMPARE(debug::mapped_name(debug::parse_name_map("a = x"), "ab"), std::string());
  }

  void layouts_that_agree_are_found() {
    const Tensor image = numbers({2, 3, 4, 5}, 0);
    const Tensor channels_last = [&] {
      const QuietScope quiet;
      return ops::transpose(image, std::vector<std::int64_t>{0, 2, 3, 1});
    }();
    const debug::LaidOutDifference same =
        debug::compare_layouts(image, channels_last, {}, debug::EqualShapes::same_axes);
    QVERIFY(!same.values.differs());
    QCOMPARE(same.layout.text(), std::string("after transposing the axes 0, 2, 3, 1"));
    const Tensor square = numbers({5, 5}, 1);
    const auto compared = [](const Tensor& left, const Tensor& right, debug::EqualShapes shapes) {
      return debug::compare_layouts(left, right, {}, shapes);
    };
    using enum debug::EqualShapes;
    QCOMPARE(compared(square, turned(square), any_axes).layout.text(),
             std::string("after transposing the axes 1, 0"));
    QVERIFY(!compared(square, turned(square), any_axes).values.differs());
    // Where the order of axes counts, equal shapes make a transposed tensor another one.
    const debug::LaidOutDifference other_axes = compared(square, turned(square), same_axes);
    QVERIFY(other_axes.values.differs() && other_axes.values.differing > 0);
    QCOMPARE(other_axes.layout.text(), std::string());
    QCOMPARE(other_axes.agreeing.text(), std::string("after transposing the axes 1, 0"));
    QCOMPARE(compared(square, square, any_axes).layout.text(), std::string());
    QCOMPARE(compared(numbers({4, 6}, 0), numbers({2, 12}, 0), same_axes).layout.text(),
             std::string("as one row of elements"));
    QVERIFY(!compared(numbers({2, 3}, 0), numbers({7}, 0), same_axes).values.comparable);
    Tensor other = another(square);
    other.writable_data<float>()[7] += 1;
    const debug::LaidOutDifference one = compared(square, other, any_axes);
    QCOMPARE(one.values.differing, std::uint64_t{1});
    QCOMPARE(one.layout.text(), std::string());
  }

  void weights_of_a_file_are_compared_with_those_of_a_run() {
    const QTemporaryDir folder;
    Runs runs;
    const Model model;
    const ComparedSide left = runs.run([&] { model.original(runs); });
    const std::string path = folder.filePath("weights.safetensors").toStdString();
    const std::vector<data::NamedTensor> stored{{"fc.weight", turned(model.kernel).make_contiguous()},
                                                {"fc.bias", model.bias},
                                                {"out.weight", numbers({2, 4}, 9)},
                                                {"out.bias", model.bias_1}};
    data::write_safetensors(path, stored, {});
    const ComparedLayers found = layers(runs, compare(runs, left, {1, {}, {}, path}));
    QVERIFY2(
        found.sentence.starts_with("The first value that differs is kernel | weight of dense_1 (on the right "
                                   "out): it differs in 8 of 8 elements"),
        found.sentence.c_str());
    const auto dense = std::ranges::find_if(
        found.layers, [](const ComparedLayer& layer) { return layer.left.value_or("") == "dense"; });
    QVERIFY(dense != found.layers.end());
    QCOMPARE(dense->parts.size(), std::size_t{2});
    for (const ComparedLayerPart& part : dense->parts)
      QVERIFY2(part.tensors.values == Agreement::agree,
               (part.tensors.role + " " + std::to_string(part.tensors.differing) + " of " +
                std::to_string(part.tensors.count))
                   .c_str());
  }
};

TAPEDECK_TEST(TestComparePorts)
#include "tst_compare_ports.moc"
