// What the tensor panel writes of a session's values: read again by its NumPy, and evaluated by its Python.
#include <QClipboard>
#include <QFile>
#include <QTabBar>

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tensor/tensor_actions.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestTensorWritten : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void key(Qt::Key key) {
    QTest::keyClick(tensor(*window_)->canvas(), key, Qt::AltModifier | Qt::ShiftModifier);
  }

 private slots:
  void initTestCase() { useOwnSettings(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void savedAndCopiedValuesAreThoseOfTheProgram() {
    const QStringList names{"z", "h", "big", "s", "t"};
    window_ = newWindow();
    window_->openNotebook(writeNotebook(
        folder_, "save.ipynb",
        {"import numpy as np\nimport tapedeck as tf\n"
         "z = tf.identity(tf.constant([[1+2j, np.nan], [3-.5j, -1j]], tf.complex64))\n"
         "h = tf.identity(tf.cast([[.1, 2., np.inf]], tf.bfloat16))\n"
         "big = tf.identity(tf.constant([2**62 + 1, -7], tf.int64))\n"
         "s = tf.identity(tf.constant([b'a', b'it\\'s\\xff']))\n"
         "t = tf.identity(tf.constant([[True], [False]]))",
         "folder = r'" + folder_.path() +
             "'\nfor name, value in dict(z=z, h=h, big=big, s=s, t=t).items():\n"
             "    value = np.asarray(value.numpy())\n"
             "    for read in np.load(f'{folder}/{name}.npy'), eval(open(f'{folder}/{name}.txt').read()):\n"
             "        assert read.shape == value.shape, name\n"
             "        if name == 's':\n            assert list(read) == [b'a', b'it\\'s\\xff'], read\n"
             "        else:\n            np.testing.assert_array_equal(value.astype(read.dtype), read, "
             "name)\n"
             "rows = np.loadtxt(f'{folder}/z.csv', delimiter=',', dtype=complex)\n"
             "np.testing.assert_array_equal(rows, np.asarray(z.numpy()))\nprint('all are the same')"}));
    QTRY_VERIFY_WITH_TIMEOUT(window_->notebook() && window_->notebook()->isVisible(), patience);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, 0), CellState::done, patience);
    inspector::Session* session = window_->session();
    QTRY_VERIFY_WITH_TIMEOUT(session->recordCount() >= 5, patience);
    inspector::TensorView* view = tensor(*window_);
    QTRY_VERIFY(view->isVisible());
    // The identities, in their order.
    QList<quint64> identities;
    for (quint64 number = 1; number <= session->recordCount(); ++number) {
      QTRY_VERIFY_WITH_TIMEOUT(session->record(number), patience);
      if (session->record(number)->op == "identity") identities << number;
    }
    QCOMPARE(identities.size(), names.size());
    for (qsizetype i = 0; i < names.size(); ++i) {
      session->setCursor(identities[i]);
      QTRY_VERIFY_WITH_TIMEOUT(view->model()->chip() && view->model()->chip()->record == identities[i] &&
                                   view->model()->tile() && !view->model()->loading(),
                               patience);
      view->canvas()->setFocus();
      const auto save = [&](const QString& suffix) {
        const QString path = folder_.filePath(names[i] + suffix);
        view->work()->setAskPath([path](const QString&) { return path; });
        key(Qt::Key_V);
        QTRY_VERIFY2_WITH_TIMEOUT(view->line().startsWith("Saved as " + path), qPrintable(view->line()),
                                  patience);
      };
      save(".npy");
      if (names[i] == "z") save(".csv");
      key(Qt::Key_C);
      QTRY_VERIFY2_WITH_TIMEOUT(view->line().startsWith("Copied"), qPrintable(view->line()), patience);
      QFile text(folder_.filePath(names[i] + ".txt"));
      QVERIFY(text.open(QIODevice::WriteOnly));
      text.write(QGuiApplication::clipboard()->text().toUtf8());
    }
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(outputText(*window_, 1).contains("all are the same"),
                              qPrintable(outputText(*window_, 1)), patience);
  }

  void theOneNaNOfManyIsFoundWhereTheValuesAre() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(
        folder_, "find.ipynb",
        {"import numpy as np\nimport tapedeck as tf\nvalues = np.zeros((2000, 3, 500), np.float32)\n"
         "values[1234, 2, 77] = np.nan\nvalues[7, 0, 499] = 9\nx = tf.identity(tf.constant(values))"}));
    QTRY_VERIFY_WITH_TIMEOUT(window_->notebook() && window_->notebook()->isVisible(), patience);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, 0), CellState::done, patience);
    inspector::TensorView* view = tensor(*window_);
    QTRY_VERIFY_WITH_TIMEOUT(view->model()->tile() && !view->model()->loading(), patience);
    view->canvas()->setFocus();
    key(Qt::Key_N);
    QTRY_COMPARE_WITH_TIMEOUT(view->line(), QStringLiteral("NaN at [1234, 2, 77], the only one."), patience);
    QTRY_COMPARE(view->model()->slice(), (std::vector<std::int64_t>{1234, -1, -1}));
    key(Qt::Key_PageUp);
    QTRY_COMPARE_WITH_TIMEOUT(view->line(), QStringLiteral("Maximum 9.0 at [7, 0, 499], the only one."),
                              patience);
    key(Qt::Key_Y);
    QTRY_COMPARE_WITH_TIMEOUT(view->line(), QStringLiteral("No infinity among 3,000,000 elements."),
                              patience);
    // Of 6,000 rows of 500 a picture has some hundred: NaN and 9 are seen in it.
    view->model()->setReshapeText(QStringLiteral("6000x500"));
    QTest::keyClick(view->canvas(), Qt::Key_2, Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!view->model()->loading() && view->model()->tile()->row_step > 1, patience);
    const auto& cells = view->model()->tile()->values;
    QCOMPARE(std::count_if(cells.begin(), cells.end(), [](double cell) { return std::isnan(cell); }), 1);
    QCOMPARE(std::count(cells.begin(), cells.end(), 9.0), 1);
    screenshot(window_.get(), "tensor-found-window");
  }
};

TAPEDECK_TEST(TestTensorWritten)
#include "tst_tensor_written.moc"
