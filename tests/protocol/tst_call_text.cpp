// Calls that a program wrote on several lines, on one.
#include <QtTest>

#include "engine/protocol/call_text.h"
#include "tests/test_program.h"

using tapedeck::protocol::on_one_line;

class TestCallText : public QObject {
  Q_OBJECT
 private slots:
  void is_joined_as_one_would_write_it_data() {
    QTest::addColumn<QByteArray>("code");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char* name, const char* code, const char* expected) {
      QTest::newRow(name) << QByteArray(code) << QByteArray(expected);
    };
    row("nothing", "", "");
    row("one line stays as it is", "f( x ,  'a  b' )  # c", "f( x ,  'a  b' )  # c");
    row("arguments", "F.softmax(\n    scores / 2,\n    dim=-1\n)", "F.softmax(scores / 2, dim=-1)");
    row("a comma at the end may make a tuple", "f(\n  (x,\n   ),\n)", "f((x,),)");
    row("comments", "f(x,  # the input\n  # of this\n\n  y)", "f(x, y)");
    row("methods", "(x\n   .relu()\n   .sum())", "(x.relu().sum())");
    row("an operator", "a +\\\n   b", "a + b");
    row("a backslash before a space", "a \\\n  + b", "a + b");
    row("brackets", "x[\n  0\n] + {\n'a': 1}", "x[0] + {'a': 1}");
    row("a string with what looks like a comment", "f('# \\' no',\n  \"#\")", "f('# \\' no', \"#\")");
    row("a long string", "f('''a\n  # b'c\n''',\n  x)", "f('''a\\n  # b'c\\n''', x)");
    row("a string that does not end", "f('a\n  b", "f('a\\n  b");
    row("other letters", "f(größe,\n  Δ)", "f(größe, Δ)");
    row("lines of Windows", "f(x,\r\n  y)", "f(x, y)");
    row("what ends in a break", "f(x)  # c\n", "f(x)");
  }
  void is_joined_as_one_would_write_it() {
    QFETCH(QByteArray, code);
    QFETCH(QByteArray, expected);
    const std::string joined = on_one_line(code.toStdString());
    QCOMPARE(QByteArray::fromStdString(joined), expected);
    QCOMPARE(QByteArray::fromStdString(on_one_line(joined)), expected);
  }
};

TAPEDECK_TEST(TestCallText)
#include "tst_call_text.moc"
