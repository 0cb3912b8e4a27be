// What records of runs know of their traces: the names of the program, inputs and results of inner calls.
#include <QtTest>

#include "engine/graph/run_log.h"
#include "tests/engine/graph/recorded_calls.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace recorded_calls;

namespace {

/// What a function of the test holds.
std::vector<NamedValue> names_held;

void name_here(const std::string& name, const Tensor& tensor) {
  NamedValue value;
  value.name = name;
  value.kind = NamedValue::Kind::tensor;
  value.symbolic = true;
  value.tensor = tensor.id();
  names_held.push_back(value);
}

Names names_in_test() {
  auto names = std::make_shared<NamesFrame>();
  names->values = names_held;
  return names;
}

}  // namespace

class TestGraphNames : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { set_capture_location(&compared::capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void an_inner_call_has_its_arguments_and_results() {
    const auto f = caller_of_g();
    Recording recording;
    call(f, 0.5);
    QCOMPARE(recording.at(2).op, std::string("g(x0: float64 ())"));
    QCOMPARE(recording.at(2).inputs.at(0).id, recording.at(1).inputs.at(0).id);
    QCOMPARE(recording.at(2).outputs.at(0).id, recording.at(4).outputs.at(0).id);  // tanh's
  }

  void names_have_the_values_of_the_run_at_each_record() {
    set_capture_names(&names_in_test);
    const auto f = function_of("f", [](Inputs x) {
      name_here("x", x[0]);
      const Tensor y = ops::multiply(x[0], x[0]);
      name_here("y", y);
      const Tensor unread = ops::exp(y);
      name_here("unread", unread);
      return Tensors{ops::tanh(y)};
    });
    set_capture_names(nullptr);
    names_held.clear();
    Recording recording;
    call(f, 3);
    QCOMPARE(tree(recording), std::string("f(x0: float64 ())\n  multiply\n  tanh\n"));
    const auto at = [&](std::uint64_t number) {
      std::map<std::string, std::uint64_t> values;
      const auto names = names_at(number, 0);
      for (const NamedValue& value : names ? (*names)->values : std::vector<NamedValue>())
        values[value.name] = value.tensor;
      return values;
    };
    const std::uint64_t x = recording.at(1).inputs.at(0).id, y = recording.at(2).outputs.at(0).id;
    QCOMPARE(at(1), (std::map<std::string, std::uint64_t>{}));  // the call itself is no node
    QCOMPARE(at(2), (std::map<std::string, std::uint64_t>{{"x", x}}));
    QCOMPARE(at(3), (std::map<std::string, std::uint64_t>{{"x", x}, {"y", y}, {"unread", 0}}));
    QVERIFY(!names_at(3, 0, true));  // it has ended
    QVERIFY(!names_at(4, 0));
  }

  void names_of_a_function_that_is_called_are_those_of_its_own_trace() {
    set_capture_names(&names_in_test);
    const auto g = function_of("g", [](Inputs x) {
      name_here("inner", x[0]);
      return Tensors{ops::exp(x[0])};
    });
    names_held.clear();
    const auto f = function_of("f", [g](Inputs x) {
      name_here("outer", x[0]);
      const Tensor y = ops::square(x[0]);
      return Tensors{ops::tanh(g->call(Tensors{y})[0])};
    });
    set_capture_names(nullptr);
    names_held.clear();
    Recording recording;
    call(f, 3);
    QCOMPARE(recording.at(4).op, std::string("exp"));
    const auto names = names_at(4, 0);
    QVERIFY(names && (*names)->around);
    QCOMPARE((*names)->values.at(0).name, std::string("inner"));
    QCOMPARE((*names)->values.at(0).tensor, recording.at(2).outputs.at(0).id);
    QCOMPARE((*names)->around->values.at(0).name, std::string("outer"));
    QCOMPARE((*names)->around->values.at(0).tensor, recording.at(1).inputs.at(0).id);
  }
};

TAPEDECK_TEST(TestGraphNames)
#include "tst_graph_names.moc"
