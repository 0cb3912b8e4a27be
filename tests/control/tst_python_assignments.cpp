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
    QCOMPARE(context.tensors, (QSet<QString>{"tf"}));
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

  void whatIsATensorForSure() {
    for (const char* code : {"loss = tf.reduce_mean(y)", "loss = tf.square(y)", "loss = tf.matmul(a, b) - 1",
                             "loss = 2 * tf.exp(y)", "loss += tf.square(y)", "total = loss = tf.square(y)"})
      QVERIFY2(lossIn(code).value(0).tensor, code);
    for (const char* code : {"loss = a * b", "loss = 3", "loss = own(tf.square(y))", "loss = tf.cast(y, d)",
                             "loss = float(tf.square(y))", "loss = tf.square(y).ndim * 2", "loss = f(y)",
                             "loss = os.square(y)", "loss = tf.square(y); a = b * c"}) {
      QCOMPARE(lossIn(code).size(), 1);
      QVERIFY2(!lossIn(code)[0].tensor, code);
    }
  }

  void variablesWithoutAnotherNameAreKnown() {
    for (const char* code : {"loss = tf.Variable(1.)", "loss = tf.Variable(1., name='loss')",
                             "loss = tf.Variable(\n    1.,\n    name=\"loss\")"})
      QVERIFY2(lossIn(code).value(0).variable, code);
    for (const char* code : {"loss = tf.Variable(1., name='cost')", "loss = tf.Variable(1., name=loss)",
                             "loss = tf.Variable(1., name=f'loss{i}')", "loss = tf.square(y)", "loss = 3"}) {
      QCOMPARE(lossIn(code).size(), 1);
      QVERIFY2(!lossIn(code)[0].variable, code);
    }
  }

  void otherWaysToGiveANameAValue() {
    for (const char* code : {"for loss in range(6):\n    pass",
                             "for i, (a, loss) in pairs: pass",
                             "with open(f) as loss: pass",
                             "with f() as (a, loss):\n    pass",
                             "import loss",
                             "import a as loss",
                             "from a import b, loss",
                             "def loss(x):\n    pass",
                             "class loss:\n    pass",
                             "def f(x, loss=3):\n    pass",
                             "def f(*loss):\n    pass",
                             "if (loss := f(x)) > 3: pass",
                             "f(loss := 3)",
                             "try:\n    f()\nexcept E as loss:\n    pass",
                             "a, loss = f(x)",
                             "(a, loss) = f(x)",
                             "[loss, *a] = f(x)",
                             "a, *loss = f(x)",
                             "b = a, loss = f(x)",
                             "a = 3; b, loss = f(x)",
                             "if a: b, loss = f(x)",
                             "xs = [loss for loss in ys]",
                             "f = lambda loss: 3",
                             "async def f(loss):\n    pass"})
      QVERIFY2(!otherBindings("loss", code).isEmpty(), code);
    for (const char* code : {"loss = f(x)",
                             "loss += 1",
                             "loss: int = 3",
                             "a = loss = 3",
                             "f(loss=3)",
                             "f(loss)",
                             "x.loss = 3",
                             "loss.x = 3",
                             "loss[0] = 3",
                             "x[loss] = 3",
                             "x[loss], y = 3, 4",
                             "for x in loss: y = loss",
                             "with f(loss) as x: g(loss)",
                             "a = [x for x in loss]",
                             "losses, a = f(x)",
                             "a.loss, b = f(x)",
                             "print(f'{loss}')",
                             "a, b = loss, 3",
                             "# for loss in x:",
                             ""})
      QVERIFY2(otherBindings("loss", code).isEmpty(), code);
    QCOMPARE(otherBindings("step", "x = 3\nfor step in range(6):\n    y = step\n\na, step = 3, 4\n"),
             (QList<int>{2, 5}));
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
      for (const int line : otherBindings("loss", cut)) QVERIFY(line >= 1);
    }
  }
};

TAPEDECK_TEST(TestPythonAssignments)
#include "tst_python_assignments.moc"
