// Which names a cell of Python code reads and assigns.
#include <QtTest>

#include "app/control/python_names.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

QString sorted(const QSet<QString>& names) {
  QStringList list(names.begin(), names.end());
  list.sort();
  return list.join(' ');
}

}  // namespace

class TestPythonNames : public QObject {
  Q_OBJECT

 private slots:
  void namesAreFound_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("reads");
    QTest::addColumn<QString>("assigns");
    const auto row = [](const char* name, const char* source, const char* reads, const char* assigns) {
      QTest::newRow(name) << QString::fromUtf8(source) << QString::fromUtf8(reads)
                          << QString::fromUtf8(assigns);
    };
    row("assignment", "x = y + 1", "y", "x");
    row("its own names are not read", "x = 1\nprint(x)", "print", "x");
    row("read before it is assigned", "x = x + 1", "x", "x");
    row("augmented", "w -= rate * g", "g rate w", "w");
    row("several targets", "a, (b, *c) = d = f()", "f", "a b c d");
    row("annotated", "x: int = y", "int y", "x");
    row("an annotation alone", "x: int", "int", "");
    row("element", "w[i] = v", "i v w", "w");
    row("member", "model.rate = v", "model v", "model");
    row("method", "rows.append(x)", "rows x", "");
    row("members and keywords are no names", "f(a=b).c.d", "b f", "");
    row("not a keyword of a call", "x = (a == b)", "a b", "x");
    row("strings and comments", "s = 'a b' # c\nt = '''d\ne'''", "", "s t");
    row("formatted", "print(f'{a} {b!r:>{c}} {{d}}')", "a b c print", "");
    row("loop", "for i, j in pairs: s = i", "pairs", "i j s");
    row("loop with a block", "for i in range(n):\n    w = w - g[i]\nw", "g n range w", "i w");
    row("condition", "if a:\n  x = 1\nelif b: x = 2\nelse:\n  x = c", "a b c", "x");
    row("with", "with tape() as t, other(x) as (u, v):\n  t.watch(u)", "other tape x", "t u v");
    row("exception", "try:\n  f()\nexcept E as e:\n  print(e)", "E f print", "e");
    row("comprehension", "x = [a * k for a in rows if a > low]", "k low rows", "x");
    row("dict comprehension", "d = {k: v for k, v in items}", "items", "d");
    row("generator in a call", "s = sum(a for a in rows)", "rows sum", "s");
    row("lambda", "f = lambda a, b=c: a + b + d", "c d", "f");
    row("walrus", "if (n := len(a)) > 1: print(n)", "a len print", "n");
    row("import", "import a.b as c, d.e\nfrom f import (g,\n  h as i)\nc, d, g, i", "", "");
    row("member of an import", "import numpy as np\nnp.seed = 1", "", "");
    row("a function that is only defined", "def f(x, y=z):\n  k = x\n  return k + w", "z", "f");
    row("a function that is used", "def f(x):\n  return x + w\nf(1)", "w", "f");
    row("a function used by another", "def f(): return w\ndef g(): return f()\ng()", "w", "f g");
    row("an inner function", "def f():\n  a = 1\n  def g():\n    return a + b\n  return g\nf()", "b", "f");
    row("global", "def f():\n  global n\n  n = n + 1\nf()", "n", "f");
    row("class", "class A(B, metaclass=M):\n  k = v\n  def f(self):\n    return self.k + w\nA()", "B M v w",
        "A");
    row("class alone", "class A:\n  def f(self):\n    return w", "", "A");
    row("decorator", "@wrap(a)\ndef f(): pass", "a wrap", "f");
    row("lines that go on", "x = (a +\n  b)\ny = c + \\\n  d", "a b c d", "x y");
    row("two on a line", "a = 1; b = a + c", "c", "a b");
    row("magic", "%matplotlib inline\n!ls {files}\nx?\ny = z", "z", "y");
    row("other language", "%%bash\nx=$y", "", "");
    row("timed", "%%time\nx = y", "y", "x");
    row("deleted", "del x, y[0]", "y", "x y");
    row("letters of other alphabets", "θ = α * 2", "α", "θ");
    row("not ended", "x = (a, 'b", "a", "x");
    row("only signs", ") ] } = : ; , . @ def class for in lambda", "", "");
  }
  void namesAreFound() {
    QFETCH(QString, source);
    QFETCH(QString, reads);
    QFETCH(QString, assigns);
    const PythonNames names = pythonNames(source);
    QCOMPARE(sorted(names.reads), reads);
    QCOMPARE(sorted(names.assigns), assigns);
  }

  /// What could take long, or much of the stack, has no names.
  void hostileTextsAreLeftOut() {
    for (const QString& part :
         {QString("("), QString("if a:"), QString("a,"), QString("[x for x in "), QString("lambda a:"),
          QString("with a as b,"), QString("def f("), QString("a;")})
      pythonNames(part.repeated(longest_analysed / part.size()));
    QVERIFY(pythonNames(QString("x = y\n").repeated(longest_analysed)).assigns.isEmpty());
  }
};

TAPEDECK_TEST(TestPythonNames)
#include "tst_python_names.moc"
