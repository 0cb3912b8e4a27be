// Draws the notebook in light and dark, narrow and wide, with every kind of cell and output, into the build
// folder.
#include <QApplication>
#include <QDir>
#include <QScrollBar>
#include <QStyle>
#include <QtTest>
#include <algorithm>

#include "app/notebook/output/image_output.h"
#include "app/notebook/view/notebook_view.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

const char* const svg =
    R"(<svg xmlns="http://www.w3.org/2000/svg" width="260" height="90" viewBox="0 0 260 90">
<rect x="1" y="1" width="258" height="88" fill="none" stroke="black"/>
<path d="M10 80 C 60 10, 120 10, 250 70" fill="none" stroke="#1f77b4" stroke-width="3"/>
<text x="100" y="60" font-size="14">loss</text></svg>)";

const char* const frame = R"(<div><style scoped>.dataframe tbody tr th {vertical-align: top;}</style>
<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>step</th><th>loss</th><th>norm</th></tr></thead>
<tbody><tr><th>0</th><td>1</td><td>0.6931</td><td>12.5</td></tr><tr><th>1</th><td>2</td><td>0.3312</td><td>3.25</td></tr></tbody></table>
<p>2 rows × 3 columns</p></div>)";

nlohmann::json traceback() {
  return {{"output_type", "error"},
          {"ename", "ValueError"},
          {"evalue", "inner dimensions differ"},
          {"traceback",
           {"\x1b[0;31m---------------------------------------------------------------------------\x1b[0m",
            "\x1b[0;31mValueError\x1b[0m                                Traceback (most recent call last)",
            "Cell \x1b[0;32mIn [4], line 2\x1b[0m\n\x1b[1;32m      1\x1b[0m a \x1b[38;5;241m=\x1b[39m "
            "tf\x1b[38;5;241m.\x1b[39mones((\x1b[38;5;241m2\x1b[39m, "
            "\x1b[38;5;241m3\x1b[39m))\n\x1b[0;32m----> 2\x1b[0m tf\x1b[38;5;241m.\x1b[39mmatmul(a, a)",
            "\x1b[0;31mValueError\x1b[0m: matmul: a (2, 3) and b (2, 3): inner dimensions 3 and 2 differ"}}};
}

QByteArray everything() {
  using nlohmann::json;
  return notebookOf({
      markdownCell(
          "intro",
          "# A first gradient\nThe function is $f(x) = x^2 + \\alpha\\,\\sin(x_1)$ with `x` a *scalar*; see "
          "[the docs](https://example.org/docs).\n\n$$\\frac{\\partial f}{\\partial x} = 2x \\le "
          "\\sum_{i=1}^{n} "
          "\\|w_i\\|^2$$\n\n## What is shown\n- the **tape** and its playback\n- a table:\n\n| op | shape | "
          "VJP "
          "|\n|---|---|---|\n| matmul | (2, 3) | `g @ bᵀ` |\n| relu | (2,) | `g * (x > 0)` "
          "|\n\n```python\ndef "
          "square(x):\n    return x * x\n```\n\n> A quotation about gradients.\n\n1. one\n2. two\n"),
      codeCell("imports", "import tapedeck as tf\nfrom tapedeck import tfe", json::array(), 1),
      codeCell(
          "square",
          "def square(x):\n    \"\"\"The square of x.\"\"\"\n    return x ** 2  # one "
          "op\n\n@tf.custom_gradient\ndef "
          "noisy(x):\n    for i in range(10):\n        x = x * 1.5 + float(i)\n    return f\"{x:.3f}\", None",
          json::array(
              {stream("epoch 1 \x1b[32mok\x1b[0m loss \x1b[1;34m0.693\x1b[0m\nepoch 2 \x1b[33mslow\x1b[0m\n"),
               stream("a warning on stderr\n", "stderr"), result(2, {{"text/plain", "<tf.Tensor: 6.0>"}})}),
          2),
      codeCell("plot", "plot(losses)",
               json::array({display({{"image/png", picture(420, 180, "PNG")}, {"text/plain", "<Figure>"}}),
                            display({{"image/svg+xml", svg}}),
                            result(3, {{"text/html", frame}, {"text/plain", "x"}})}),
               3),
      codeCell("fails", "a = tf.ones((2, 3))\ntf.matmul(a, a)", json::array({traceback()}), 4),
      codeCell(
          "odd", "odd()",
          json::array(
              {display({{"application/x-unknown", "?"}}), display({{"application/json", {{"a", {1, 2.5}}}}}),
               display({{"image/svg+xml", "<svg><broken"}}), display({{"image/png", "bm90IGEgcG5n"}})}),
          5),
      codeCell("input", "name = input('Your name: ')"),
      codeCell("last", "train(steps=100)"),
      markdownCell("empty", ""),
  });
}

QPalette darkPalette() {
  QPalette palette(QColor(45, 45, 48), QColor(37, 37, 38));
  palette.setColor(QPalette::Base, QColor(30, 30, 30));
  palette.setColor(QPalette::Text, QColor(220, 220, 220));
  palette.setColor(QPalette::WindowText, QColor(220, 220, 220));
  palette.setColor(QPalette::ButtonText, QColor(220, 220, 220));
  return palette;
}

}  // namespace

class NotebookPictures : public QObject {
  Q_OBJECT

 private slots:
  void init() { QApplication::setPalette(QPalette()); }
  void cleanup() { QApplication::setPalette(QPalette()); }

  void everyKindOfCellIsDrawn_data() {
    QTest::addColumn<bool>("dark");
    QTest::addColumn<int>("width");
    QTest::newRow("light-600") << false << 600;
    QTest::newRow("light-1200") << false << 1200;
    QTest::newRow("dark-600") << true << 600;
    QTest::newRow("dark-1200") << true << 1200;
  }
  void everyKindOfCellIsDrawn() {
    QFETCH(bool, dark);
    QFETCH(int, width);
    QApplication::setPalette(dark ? darkPalette() : QApplication::style()->standardPalette());
    Document document;
    document.parse(everything(), "everything.ipynb");
    NotebookView view(&document);
    view.resize(width, 1400);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view, tapedeck::patience));
    activate(&view);
    view.setCellState("imports", CellState::done);
    view.setCellState("square", CellState::done);
    view.setCellState("fails", CellState::failed);
    view.setCellState("input", CellState::busy);
    view.setCellState("last", CellState::queued);
    view.setPausedLine("square", 3, true);
    view.setCurrentCell(2, true);
    save(view, "top");
    view.setPausedLine("square", 8, false);
    view.setCurrentCell(4, false);
    view.askInput("input", "Your name: ", false);
    view.setCurrentCell(document.cellCount() - 1, false);
    save(view, "bottom");
    QVERIFY(view.grab().toImage().pixelColor(width - 40, 10).isValid());
  }

  void theSamplesAreDrawn_data() {
    QTest::addColumn<QString>("path");
    const QDir folder(QString(TAPEDECK_SOURCE_DIR) + "/samples");
    for (const QString& name : folder.entryList({"*.ipynb"})) {
      QTest::newRow(qPrintable(QFileInfo(name).baseName())) << folder.filePath(name);
    }
  }
  void theSamplesAreDrawn() {
    QFETCH(QString, path);
    Document document;
    document.load(path);
    NotebookView view(&document);
    view.resize(820, 1400);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view, tapedeck::patience));
    save(view, "top");
    view.setCurrentCell(document.cellCount() - 1, false);
    save(view, "bottom");
    QVERIFY(!document.modified());
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(document.serialize(), file.readAll());
  }

 private:
  static void save(NotebookView& view, const QString& part) {
    const QString folder = QString(TAPEDECK_BUILD_DIR) + "/pictures";
    QDir().mkpath(folder);
    const QString file = QString("%1/notebook-%2-%3.png").arg(folder, QTest::currentDataTag(), part);
    const auto pictures = view.findChildren<ImageOutput*>();
    const auto isDrawn = [](const ImageOutput* one) { return !one->told().startsWith("Drawing"); };
    QVERIFY(tapedeck::waitFor([&] { return std::ranges::all_of(pictures, isDrawn); }, tapedeck::patience));
    (void)tapedeck::settled([&] { return view.verticalScrollBar()->maximum(); }, 4);
    QVERIFY2(view.grab().save(file, "PNG", 80), qPrintable(file));  // a fast zlib
  }
};

TAPEDECK_TEST(NotebookPictures)
#include "tst_notebook_pictures.moc"
