// Where Python text assigns a name, and what can be said of the value from the text alone.
#include <QtTest>

#include "app/control/python_assignments.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using AssignedValue = PythonAssignment::Value;

namespace {

const QString assigning_context =
    "import tapedeck as tf, os.path\n"
    "from tapedeck.keras import losses, layers as kl\n"
    "def own(x):\n"
    "    return x\n"
    "twice = lambda x: 2 * x\n";

QList<PythonAssignment> lossIn(const QString& code) {
  return assignmentsTo("loss", code, contextOf({assigning_context, code}));
}

}  // namespace

class TestPythonAssignments : public QObject {
  Q_OBJECT
 private slots:
  void importsAndFunctionsAreKnown() {
    const PythonContext context = contextOf({assigning_context});
    QCOMPARE(context.modules, (QSet<QString>{"tf", "os", "losses", "kl"}));
    QCOMPARE(context.functions, (QSet<QString>{"own", "twice"}));
  }

  void whatAValueIsMadeBy_data() {
    QTest::addColumn<QString>("code");
    QTest::addColumn<int>("value");
    QTest::addColumn<QString>("op");
    QTest::addColumn<bool>("single");
    const auto row = [](const char* code, AssignedValue value, const char* op = "", bool single = false) {
      QTest::newRow(code) << QString(code) << static_cast<int>(value) << QString(op) << single;
    };
    row("loss = tf.reduce_mean(tf.square(y))", AssignedValue::op);
    row("loss = tf.reduce_mean(y, axis=[0, 1])", AssignedValue::op);
    row("loss = tf.square(y)", AssignedValue::op, "", true);
    row("loss: tf.Tensor = tf.square(y)", AssignedValue::op, "", true);
    row("total = loss = tf.square(y)", AssignedValue::op, "", true);
    row("loss = total = tf.square(y)", AssignedValue::op, "", true);
    row("loss = a + b * c", AssignedValue::op, "add");
    row("loss = a * b + own(c)", AssignedValue::op, "add");
    row("loss = (a *\n        b + c)", AssignedValue::op, "add");
    row("loss = ((tf.square(y)))", AssignedValue::op, "", true);
    row("loss = (a + b) * (c + d)", AssignedValue::op, "multiply");
    row("loss = a * -b", AssignedValue::op, "multiply");
    row("loss = a @ b", AssignedValue::op, "matmul", true);
    row("loss += tf.square(y)", AssignedValue::op, "add");
    row("loss /= 3", AssignedValue::op, "divide", true);
    row("for x in xs: loss = tf.square(x)", AssignedValue::op, "", true);
    row("loss = loss_of(y, t)", AssignedValue::call, "", true);
    row("loss = self.loss_of(y * 2, t)", AssignedValue::call);
    row("loss = (y - t).mean()", AssignedValue::call);
    for (const char* code :
         {"loss = own(y * 2)", "loss = twice(y)", "loss = float(tf.square(y))", "loss = tf.square(y).numpy()",
          "loss = tf.square(y), 3", "loss = (a * b, c)", "loss = [a * b]", "loss = other", "loss = 3",
          "loss = a * b if c else d", "loss = np.square(y)", "loss = tf.Variable(tf.ones([2]))",
          "loss = {'a': y * 2}", "loss = lambda: y * 2", "loss = a * b; c = d * e", "c = d * e; loss = a * b",
          "loss = [tf.square(x) for x in xs]", "loss = f(a)[0]"})
      row(code, AssignedValue::other);
  }
  void whatAValueIsMadeBy() {
    QFETCH(QString, code);
    QFETCH(int, value);
    QFETCH(QString, op);
    QFETCH(bool, single);
    const auto found = lossIn(code);
    QCOMPARE(found.size(), 1);
    QCOMPARE(static_cast<int>(found[0].value), value);
    if (found[0].value == AssignedValue::other) return;
    QCOMPARE(found[0].op, op);
    QCOMPARE(found[0].single, single);
  }

  void whatAssignsAnotherNameIsNone() {
    for (const char* code :
         {"losses = a * b", "x.loss = a * b", "loss[0] = a * b", "f(loss=a * b)", "loss == a * b",
          "a, loss = b * c, d", "# loss = a * b", "'loss = a * b'", "loss", ""})
      QVERIFY2(lossIn(code).isEmpty(), code);
  }

  void linesAndFunctionsAreCounted() {
    const QString code =
        "# first\n"
        "\n"
        "def step(x):\n"
        "    y = x * 2\n"
        "    def inner():\n"
        "        loss = tf.square(y)\n"
        "        return loss\n"
        "    loss = tf.reduce_sum(\n"
        "        tf.square(y)  # and on\n"
        "    )\n"
        "\n"
        "loss = tf.\\\n"
        "    square(z)\n";
    const auto found = lossIn(code);
    QCOMPARE(found.size(), 3);
    QCOMPARE((std::array{found[0].first, found[0].last, found[0].function}), (std::array{6, 6, 5}));
    QCOMPARE((std::array{found[1].first, found[1].last, found[1].function}), (std::array{8, 10, 3}));
    QCOMPARE((std::array{found[2].first, found[2].last, found[2].function}), (std::array{12, 13, 0}));
    QCOMPARE(functionAt(code, 4), 3);
    QCOMPARE(functionAt(code, 7), 5);
    QCOMPARE(functionAt(code, 9), 3);
    QCOMPARE(functionAt(code, 12), 0);
  }

  // Of a text that ends anywhere.
  void cutTextIsRead() {
    const QString code =
        assigning_context + "for i in x:\n    loss = f'{a}' + tf.square(y[1:], *z) # é\nloss += (1,";
    for (qsizetype size = 0; size <= code.size(); ++size) {
      const QString cut = code.left(size);
      for (const auto& one : lossIn(cut)) QVERIFY(one.first >= 1 && one.last >= one.first);
    }
  }
};

TAPEDECK_TEST(TestPythonAssignments)
#include "tst_python_assignments.moc"
