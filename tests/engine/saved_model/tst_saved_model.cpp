// Saved models: graphs and variables in a folder, and back; damage and models that lie.
#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/data/crc32c.h"
#include "engine/data/data_error.h"
#include "engine/graph/arrays/arrays.h"
#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/saved_model/function.h"
#include "engine/saved_model/model.h"
#include "engine/tape/gradients.h"
#include "engine/tensor/interrupt.h"
#include "engine/tensor/strings.h"
#include "tests/campaign.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/same_bits.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;
using saved_model::Model;
using saved_model::Signature;

namespace {

namespace fs = std::filesystem;
using Arguments = std::span<const Tensor>;

Tensor matrix(std::int64_t rows, std::int64_t columns, double first) {
  const Tensor numbers = ops::range(0, static_cast<double>(rows * columns));
  return ops::reshape(numbers * 0.1 + first, {rows, columns});
}

/// x·w + b through a branch, a loop, a gradient that the function plays, one of its own, and an array; counts
/// its calls.
struct Layer {
  Variable w{matrix(3, 2, -0.3), "layer/w"}, b{matrix(1, 2, 0.5), "layer/b"};
  Variable calls{Tensor::scalar(0, DType::int64), "calls", false};

  Tensors operator()(Arguments x) {
    calls.assign(calls.read() + 1.0);
    const Tensor y = ops::matmul(x[0], w.read()) + b.read();
    const Tensor positive = testing::called("greater", {ops::reduce_sum(y), Tensor::scalar(0)});
    const Tensor chosen = branch(
        positive, [&] { return Tensors{y * 2.0}; }, [&] { return Tensors{ops::exp(y)}; })[0];
    const Tensor grown = loop(
        std::array{chosen},
        [](Arguments v) {
          return testing::called("less", {ops::reduce_max(ops::abs(v[0])), Tensor::scalar(100)});
        },
        [&](Arguments v) { return Tensors{v[0] * 2.0 + b.read()}; })[0];
    const Tensor slope = [&] {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensor loss = ops::reduce_sum(ops::square(ops::matmul(x[0], w.read())));
      return tape.gradient(std::array{loss}, std::array{x[0]})[0];
    }();
    const Tensor own = custom_gradient("doubled", std::array{y}, [&] {
      const CustomVjp vjp = [](Arguments dy) { return Tensors{dy[0] * 3.0}; };
      return CustomResult{{y * 2.0}, vjp};
    })[0];
    ValueSpec rows{DType::float32, {1, 2}};
    rows.unknown.axes = 1;
    const Tensor zero = Tensor::scalar(0, DType::int32), one = Tensor::scalar(1, DType::int32);
    const Tensor array = array_of({rows, true, false}, one, {}, {}, {});
    const Tensor kept = array_read(array_write(array, zero, own * 0.5), zero, rows);
    return {grown, slope, own, kept};
  }
};

Model model_of(Layer& layer) {
  ValueSpec spec{DType::float32, {1, 3}};
  spec.unknown.axes = 1;
  Model model;
  model.variables = {layer.w, layer.b, layer.calls};
  model.graphs.push_back(trace_open("layer", std::array{spec}, [&](Arguments x) { return layer(x); }));
  model.signatures["serving_default"] = {0, {"x"}, {"grown", "slope", "own", "kept"}};
  return model;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

fs::path weights_of(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") return entry.path();
  return {};
}

/// model.json with other contents behind its first line, which has the checksum that belongs to them.
void write_rest(const fs::path& path, const std::string& rest) {
  char checksum[9];
  std::snprintf(checksum, sizeof checksum, "%08x", data::crc32c(rest));
  write(path, std::string(R"({"format":"tapedeck saved model","version":1,"crc32c":")") + checksum + "\",\n" +
                  rest);
}

void write_json(const fs::path& path, const nlohmann::json& json) {
  nlohmann::json rest = json;
  for (const char* name : {"format", "version", "crc32c"}) rest.erase(name);
  write_rest(path, rest.dump().substr(1));
}

/// All places of a tree of JSON.
void collect(nlohmann::json& json, std::vector<nlohmann::json*>& found) {
  found.push_back(&json);
  if (json.is_structured())
    for (auto& [key, value] : json.items()) collect(value, found);
}

/// Another value in that place: of another kind, out of range, gone, or of somewhere else.
void change(nlohmann::json& json, std::mt19937& random, const nlohmann::json& other) {
  switch (random() % 8) {
    case 0:
      json = nullptr;
      return;
    case 1:
      json = -1;
      return;
    case 2:
      json = static_cast<std::int64_t>(random() % 1000);
      return;
    case 3:
      json = "text";
      return;
    case 4:
      json = other;
      return;
    case 5:
      json = INT64_MAX - static_cast<std::int64_t>(random() % 3);
      return;
    case 6:
      json = nlohmann::json::array({random() % 9, random() % 3});
      return;
    default:
      if (json.is_array() && !json.empty())
        json.erase(random() % json.size());
      else if (json.is_object() && !json.empty())
        json.erase(std::next(json.begin(), static_cast<std::ptrdiff_t>(random() % json.size())));
      else if (json.is_number_integer())
        json = json.get<std::int64_t>() + (random() % 2 ? 1 : -1);
      else
        json = !json.is_boolean() || !json.get<bool>();
  }
}

/// Interrupts what goes on and on: a changed loop may be one that never ends.
class EndlessLoopsEnd {
 public:
  EndlessLoopsEnd() : before_(host_hooks()) {
    HostHooks hooks = before_;
    asked = 0;
    hooks.interrupted = [] { return ++asked > 10; };
    set_host_hooks(hooks);
  }
  ~EndlessLoopsEnd() { set_host_hooks(before_); }
  EndlessLoopsEnd(const EndlessLoopsEnd&) = delete;

 private:
  static inline int asked = 0;
  const HostHooks before_;
};

}  // namespace

class TestSavedModel : public QObject {
  Q_OBJECT

 private slots:
  void a_function_gives_the_same_bits_when_it_is_loaded() {
    const QTemporaryDir folder;
    Layer layer;
    const Model model = model_of(layer);
    saved_model::write_model(folder.path().toStdString(), model);
    const Function again = Function::load(folder.path().toStdString());
    const Executable here(model.graphs[0]);
    for (const double first : {0.25, -2.0})
      for (const std::int64_t rows : {1, 4}) {
        const Tensor x = matrix(rows, 3, first);
        const Tensors expected = here(std::array{x}), got = again({x});
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(same_bits(got[i], expected[i]));
      }
    QCOMPARE(layer.calls.peek().item(), 4.0);
    QCOMPARE(again.variables()[2].peek().item(), 4.0);
    QCOMPARE(again.variables()[0].name(), std::string("layer/w:0"));
    QVERIFY(again.variables()[0].trainable() && !again.variables()[2].trainable());
    QCOMPARE(again.inputs()[0].name, std::string("x"));
    QCOMPARE(again.inputs()[0].shape, (std::vector<std::int64_t>{-1, 3}));
    QCOMPARE(again.outputs().size(), std::size_t{4});
    const auto named = again({{"x", matrix(2, 3, 0.25)}});
    QVERIFY(same_bits(named.at("slope"), again({matrix(2, 3, 0.25)})[1]));
  }

  void gradients_flow_through_a_loaded_function_to_its_variables() {
    const QTemporaryDir folder;
    Layer layer;
    const Model model = model_of(layer);
    saved_model::write_model(folder.path().toStdString(), model);
    const Function again = Function::load(folder.path().toStdString());
    const Executable here(unmerged(model.graphs[0]));
    const Tensor x = matrix(2, 3, 0.25);
    const auto gradients = [&](auto&& call, const Variable& w, const Variable& b) {
      Tape tape;
      tape.start();
      const Tensors results = call();
      tape.stop();
      return tape.gradient(results, std::array{w, b});
    };
    const Tensors expected = gradients([&] { return here(std::array{x}); }, layer.w, layer.b);
    const Tensors got = gradients([&] { return again({x}); }, again.variables()[0], again.variables()[1]);
    for (std::size_t i = 0; i < 2; ++i) QVERIFY(same_bits(got[i], expected[i]));
  }

  void what_json_or_safetensors_lack_is_kept() {
    const QTemporaryDir folder;
    const Tensor z = ops::complex(Tensor::scalar(1.5, DType::float64), Tensor::scalar(-2, DType::float64));
    const Tensor words = string_tensor({2}, std::vector<std::string>{"a\n\xff", ""});
    Model model;
    model.variables = {Variable(words, "words", false), Variable(z, "z"),
                       Variable(matrix(2, 2, 0), "grows", true, OpenShape{std::vector<std::int64_t>{-1, 2}}),
                       Variable(matrix(2, 2, 0), "any", true, OpenShape{})};
    model.graphs.push_back(trace("f", std::array{TensorSpec{DType::float32, {2}}}, [&](Arguments x) {
      return Tensors{x[0], ops::cast(x[0], DType::float16)};
    }));
    model.objects = R"({"kind": "module"})";
    saved_model::write_model(folder.path().toStdString(), model);
    const Model again = saved_model::read_model(folder.path().toStdString());
    QCOMPARE(strings_of(again.variables[0].peek())[0], std::string_view("a\n\xff"));
    QVERIFY(same_bits(again.variables[1].peek(), z));
    QCOMPARE(again.variables[2].open_shape()->text(), std::string("(None, 2)"));
    QCOMPARE(again.variables[3].open_shape()->text(), std::string("<unknown>"));
    QCOMPARE(nlohmann::json::parse(again.objects)["kind"], "module");
    QCOMPARE(again.graphs[0].text(), model.graphs[0].text());
  }

  void random_ops_go_on_in_their_sequence() {
    const QTemporaryDir folder;
    Model model;
    model.graphs.push_back(trace("noise", std::array{TensorSpec{DType::float32, {3}}}, [](Arguments x) {
      return Tensors{x[0] + ops::random_normal({3}, 0.0, 1.0, DType::float32, 5)};
    }));
    model.signatures["serving_default"] = {0, {"x"}, {"y"}};
    saved_model::write_model(folder.path().toStdString(), model);
    const Function noise = Function::load(folder.path().toStdString());
    const Tensor x = ops::zeros({3});
    QVERIFY(!same_bits(noise({x})[0], noise({x})[0]));
  }

  void what_needs_the_program_is_refused_by_name() {
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString() + "/model";
    Layer layer;
    Model model = model_of(layer);
    model.variables.pop_back();
    EXPECT_ERROR(UnimplementedError, saved_model::write_model(path, model), "variable calls:0");
    QVERIFY(!fs::exists(path));
    Model host;
    host.graphs.push_back(trace("f", std::array{TensorSpec{DType::float32, {}}}, [](Arguments x) {
      HostCall call;
      call.name = "print";
      call.function = [](Arguments given) { return Tensors(given.begin(), given.end()); };
      return host_call(call, std::array{ValueSpec{DType::float32, {}}}, x);
    }));
    EXPECT_ERROR(UnimplementedError, saved_model::write_model(path, host), "it calls 'print'");
    Model misfit = model_of(layer);
    misfit.signatures["other"] = {0, {"x", "y"}, {}};
    EXPECT_ERROR(InvalidArgumentError, saved_model::write_model(path, misfit), "the signature other");
  }

  void what_is_not_a_saved_model_is_named() {
    const QTemporaryDir folder;
    const fs::path path(folder.path().toStdString());
    EXPECT_ERROR(NotFoundError, Function::load(path / "none"), "there is no such folder");
    EXPECT_ERROR(NotFoundError, Function::load(path), "it is not a saved model");
    write(path / "saved_model.pb", "graph");
    EXPECT_ERROR(UnimplementedError, Function::load(path), "a SavedModel of TensorFlow");
    write(path / "model.json", R"({"format":"tapedeck saved model","version":2,"crc32c":"00000000",)");
    EXPECT_ERROR(UnimplementedError, Function::load(path), "version 2");
    Layer layer;
    saved_model::write_model(path, model_of(layer));
    EXPECT_ERROR(NotFoundError, Function::load(path, "predict"), "it has: serving_default");
    const Function f = Function::load(path);
    EXPECT_ERROR(InvalidArgumentError, f({matrix(1, 2, 0)}), "float32 (1, 2)");
    EXPECT_ERROR(InvalidArgumentError, f({{"y", matrix(1, 3, 0)}}), "the input x is missing");
  }

  void a_model_that_nests_without_end_is_an_error() {
    const QTemporaryDir folder;
    const fs::path path(folder.path().toStdString());
    Layer layer;
    saved_model::write_model(path, model_of(layer));
    const std::string deep = "\"objects\":" + std::string(std::size_t{1} << 20, '[');
    const std::string text = "\"x\":\"" + std::string(5000, '[') + "\"}";  // nests nothing
    for (const std::string& rest : {deep, text}) {
      write_rest(path / "model.json", rest);
      if (rest == deep)
        EXPECT_ERROR(data::DataLossError, saved_model::read_model(path), "nest deeper than 1000");
      else
        EXPECT_ERROR(data::DataLossError, saved_model::read_model(path), "has no 'weights'");
    }
  }

  void until_a_new_model_is_whole_the_old_one_stays() {
    const QTemporaryDir folder;
    const fs::path path(folder.path().toStdString());
    Layer layer;
    saved_model::write_model(path, model_of(layer));
    const fs::path first = weights_of(path);
    const std::string json = text_of(path / "model.json");
    layer.w.assign(matrix(3, 2, 7));
    // A save that died between the two files: the new weights are there, the old graphs, too.
    const std::string bytes = text_of(first);
    saved_model::write_model(path, model_of(layer));
    const fs::path second = weights_of(path);
    QVERIFY(first != second && !fs::exists(first));  // only one file of weights stays
    write(first, bytes);
    write(path / "model.json", json);
    QVERIFY(same_bits(Function::load(path).variables()[0].peek(), matrix(3, 2, -0.3)));
  }

  void damage_is_an_error() {
    const QTemporaryDir folder;
    const fs::path path(folder.path().toStdString());
    Layer layer;
    saved_model::write_model(path, model_of(layer));
    const fs::path files[] = {path / "model.json", weights_of(path)};
    const std::string texts[] = {text_of(files[0]), text_of(files[1])};
    const Campaign damage{"saved_model_damage", "damaged folders", 250, 5'000, "further random damage"};
    auto random = damage.random();
    for (std::uint64_t i = 0; i < damage.count(); ++i) {
      const std::size_t which = i % 2;
      std::string text = texts[which];
      if (i % 5 == 0) {
        text.resize(random() % text.size());
      } else {
        char& byte = text[random() % text.size()];
        byte = static_cast<char>(byte ^ static_cast<char>(1 + random() % 255));
      }
      write(files[which], text);
      try {
        saved_model::read_model(path);
        QFAIL("a damaged folder was read");
      } catch (const Error& error) {
        QVERIFY2(std::string(error.what()).find(path) != std::string::npos, error.what());
      }
      write(files[which], texts[which]);
    }
    QCOMPARE(saved_model::read_model(path).graphs.size(), std::size_t{1});
  }

  /// With checksums that fit: what no damage makes, but a program could.
  void models_that_lie_are_refused_or_run() {
    const QTemporaryDir folder;
    const fs::path path(folder.path().toStdString());
    Layer layer;
    saved_model::write_model(path, model_of(layer));
    const auto original = nlohmann::json::parse(text_of(path / "model.json"));
    write_json(path / "model.json", original);
    QCOMPARE(saved_model::read_model(path).graphs.size(), std::size_t{1});
    const Campaign lies{"saved_model_lies", "models with changed values", 250, 5'000,
                        "further random changes"};
    auto random = lies.random();
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < lies.count(); ++i) {
      nlohmann::json json = original;
      std::vector<nlohmann::json*> places;
      collect(json, places);
      const nlohmann::json other = *places[random() % places.size()];
      change(*places[1 + random() % (places.size() - 1)], random, other);  // the first is the whole
      write_json(path / "model.json", json);
      try {
        const Function f = Function::load(path);
        Tensors arguments;
        for (const Function::Parameter& input : f.inputs()) {
          Shape shape;
          for (const std::int64_t extent : input.shape)
            shape.push_back(extent < 0 || extent > 8 ? 2 : extent);
          arguments.push_back(ops::zeros(shape, input.dtype == DType::string ? DType::float32 : input.dtype));
        }
        const EndlessLoopsEnd scope;
        f(arguments);
      } catch (const Error&) {
        ++refused;
      }
    }
    QVERIFY(refused > lies.count() / 4);
  }
};

TAPEDECK_TEST(TestSavedModel)
#include "tst_saved_model.moc"
