// At 1280×800 the workspaces with panels beside the notebook cut neither its code nor the shapes in Ops.
#include <QHeaderView>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>

#include "inspector/model/ops/records_model.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

namespace {

const QString longLines =
    "import tapedeck as tf\n"
    "images = tf.random.normal([16, 28, 28, 3])\n"
    "kernel = tf.Variable(tf.random.normal([3, 3, 3, 32]), name='kernel_of_the_first_layer')\n"
    "with tf.GradientTape() as tape:\n"
    "    features = tf.nn.relu(tf.nn.conv2d(images, kernel, strides=[1, 2, 2, 1], padding='SAME')) # on "
    "half\n"
    "    loss = tf.reduce_mean(tf.square(features))\n"
    "gradient = tape.gradient(loss, kernel)\n"
    "url = 'https://example.org/a/path/without/any/space/that/is/much/longer/than/the/cell/is/wide/here.txt'";

}  // namespace

class TestDebugRoom : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  static long yOf(const CodeEditor* editor, long position) {
    return editor->SendScintilla(QsciScintillaBase::SCI_POINTYFROMPOSITION, 0UL, position);
  }

  /// The first letter that is beyond the editor's edges; -1: none.
  static long cutLetter(const CodeEditor* editor) {
    const long end = editor->SendScintilla(QsciScintillaBase::SCI_GETLENGTH);
    for (long at = 0; at <= end; ++at) {
      const long x = editor->SendScintilla(QsciScintillaBase::SCI_POINTXFROMPOSITION, 0UL, at);
      const bool inside = x >= 0 && x <= editor->viewport()->width() && yOf(editor, at) >= 0 &&
                          yOf(editor, at) + editor->lineHeight() <= editor->viewport()->height();
      if (!inside) return at;
    }
    return -1;
  }

  /// The first letter whose width is not that of all others; -1: none. What is drawn has one width.
  static long unevenLetter(const CodeEditor* editor) {
    const long end = editor->SendScintilla(QsciScintillaBase::SCI_GETLENGTH);
    const auto x = [&](long at) {
      return editor->SendScintilla(QsciScintillaBase::SCI_POINTXFROMPOSITION, 0UL, at);
    };
    const long width = x(1) - x(0);
    for (long at = 0; at < end; ++at) {
      const long step = x(at + 1) - x(at);
      // The last letter of a line leans over where it is italic.
      const bool last = editor->SendScintilla(QsciScintillaBase::SCI_GETCHARAT, at + 1) == '\n';
      const bool same_row = yOf(editor, at) == yOf(editor, at + 1);
      if (same_row && !last && (step < width - 1 || step > width + 1)) return at;
    }
    return -1;
  }

  /// A cell of the visible rows whose name or result is cut; empty: none.
  QString cutCell() const {
    const QTableView* table = timeline(*window_)->table();
    const int right =
        table->columnViewportPosition(RecordsModel::Shapes) + table->columnWidth(RecordsModel::Shapes);
    if (right > table->viewport()->width()) return QString("Shapes ends at %1").arg(right);
    const int first = table->rowAt(0), last = table->rowAt(table->viewport()->height() - 1);
    for (int row = first; row >= 0 && row <= (last < 0 ? table->model()->rowCount() - 1 : last); ++row) {
      const auto text = [&](int column) { return table->model()->index(row, column).data().toString(); };
      const QString shapes = text(RecordsModel::Shapes);
      const QString result = QStringLiteral("…") + shapes.mid(shapes.indexOf(QStringLiteral("→")));
      if (table->fontMetrics().horizontalAdvance(result) > table->columnWidth(RecordsModel::Shapes))
        return result;
      const QString name = text(RecordsModel::Op).left(15);
      if (table->fontMetrics().horizontalAdvance(name) > table->columnWidth(RecordsModel::Op)) return name;
    }
    return {};
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void neitherCodeNorShapesAreCut() {
    openCells(folder_, {longLines, "x = 1"});
    runAll();
    for (const Qt::Key workspace : {Qt::Key_2, Qt::Key_5}) {  // Debug, Analyze
      press(workspace, Qt::ControlModifier | Qt::AltModifier);
      QTRY_VERIFY(timeline(*window_)->isVisible());
      const CodeEditor* editor = editorOf(0);
      QTRY_COMPARE(cutLetter(editor), -1L);
      QVERIFY(!editor->horizontalScrollBar()->isVisible());
      QVERIFY(editor->contentHeight() > editor->lines() * editor->lineHeight());
      session().setCursor(1);
      QTRY_COMPARE(cutCell(), QString());
      session().setCursor(session().recordCount());
      QTRY_COMPARE(cutCell(), QString());
      shots(window_.get(), workspace == Qt::Key_2 ? "room-debug" : "room-analyze");
      // In the other theme, too.
      QTRY_COMPARE(cutLetter(editor), -1L);
      QTRY_COMPARE(unevenLetter(editor), -1L);
      QTRY_COMPARE(unevenLetter(editorOf(1)), -1L);
    }
    // Alone in the window it needs no second row.
    press(Qt::Key_1, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(editorOf(0)->contentHeight(), editorOf(0)->lines() * editorOf(0)->lineHeight());
    QTRY_COMPARE(cutLetter(editorOf(0)), -1L);
  }

  /// In Tensor no row of its tools is empty, so that as many numbers as possible are visible.
  void theToolsOfTensorTakeTwoRows() {
    openCells(folder_, {longLines, "x = 1"});
    runAll();
    for (const Qt::Key workspace : {Qt::Key_2, Qt::Key_5}) {
      press(workspace, Qt::ControlModifier | Qt::AltModifier);
      QTRY_VERIFY(tensor(*window_)->isVisible());
      const QWidget* reshape = nullptr;
      for (const auto* line : tensor(*window_)->findChildren<QLineEdit*>())
        if (line->accessibleName() == "Reshape") reshape = line;
      QVERIFY(reshape && reshape->isVisible());
      const QWidget* tools = reshape->parentWidget();
      QTRY_VERIFY2(tools->height() <= 3 * reshape->height(), qPrintable(QString::number(tools->height())));
      QTRY_VERIFY2(reshape->x() < 20 || reshape->y() < reshape->height(),
                   qPrintable(QString("%1, %2").arg(reshape->x()).arg(reshape->y())));
    }
  }

  /// The arrows go from row to row, and out of the cell from its first and last one alone.
  void theArrowsGoThroughAllRowsOfALine() {
    openCells(folder_, {longLines, "x = 1"});
    runAll();
    click(0);
    CodeEditor* editor = editorOf(0);
    QTRY_VERIFY(editor->contentHeight() > editor->lines() * editor->lineHeight());
    (void)settled([&] { return editor->size(); });  // panels that come by themselves make it narrower
    press(Qt::Key_Home, Qt::ControlModifier);
    int rows = 1;
    for (; rows < 100; ++rows) {
      const int before = editor->yOfCursor();
      press(Qt::Key_Down);
      if (window_->notebook()->currentCell() != 0) break;
      QCOMPARE(editor->yOfCursor(), before + editor->lineHeight());
    }
    QCOMPARE(window_->notebook()->currentCell(), 1);
    QCOMPARE(rows * editor->lineHeight(), editor->contentHeight());
    press(Qt::Key_Up);
    QTRY_COMPARE(window_->notebook()->currentCell(), 0);
  }

  void wrappingIsSwitchedOffInTheMenuAndByKey() {
    openCells(folder_, {longLines, "x = 1"});
    runAll();
    const auto sideways = [this] { return editorOf(0)->horizontalScrollBar()->isVisible(); };
    QTRY_VERIFY(!sideways());
    QCOMPARE(chooseInMenus(window_.get(), "edit.wrap_code"), QString());
    QTRY_VERIFY(sideways());
    QCOMPARE(QSettings().value("editor/wrapCode"), QVariant(false));
    // A window that opens now does the same.
    const auto other = newWindow();
    other->openNotebook(writeNotebook(folder_, "other.ipynb", {longLines}));
    QVERIFY(!other->findChild<QAction*>("edit.wrap_code")->isChecked());
    window_->activateWindow();
    QTRY_VERIFY(window_->isActiveWindow());
    press(Qt::Key_Z, Qt::AltModifier);
    QTRY_VERIFY(!sideways());
    // A table of numbers is read by scrolling.
    openCells(folder_, {"table = [" + QString("1.25, ").repeated(200) + "]"});
    QTRY_VERIFY(editorOf(0) && sideways());
  }
};

TAPEDECK_TEST(TestDebugRoom)
#include "tst_debug_room.moc"
