// Pictures of the tensor view in all its modes, for people to look at.
#include <QLineEdit>
#include <QTest>
#include <limits>

#include "tensor_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

class TensorPicturesTest : public QObject {
  Q_OBJECT
 private slots:
  void screenshots_data() { addPictureSizes(); }
  void screenshots() {
    QFETCH(bool, dark);
    QFETCH(QSize, size);
    qApp->setPalette(dark ? darkPalette() : lightPalette());
    const QString tag = QString::fromLatin1(QTest::currentDataTag());
    {
      TensorWindow window({{784, 196}, wave, {}}, size);
      QVERIFY(window.settled());
      QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, QPoint(150, 100));
      QTest::keyClick(window.canvas(), Qt::Key_Down, Qt::ShiftModifier);
      QVERIFY(window.painted());
      screenshot(*window.view, "tensor-numbers-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-heat-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_3, Qt::AltModifier);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-histogram-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QTest::keyClicks(window.view->reshapeBox(), "28,28");
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-images-" + tag);
    }
    {
      const auto value = [](std::int64_t i) {
        if (i == 7) return std::nan("");
        if (i == 13) return std::numeric_limits<double>::infinity();
        return static_cast<double>(i) / 7;
      };
      TensorWindow window({{4, 5, 6}, value, {}}, size);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-cube-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-cube-heat-" + tag);
    }
    {
      TensorWindow window({{}, [](std::int64_t) { return 2.53; }, {}}, size, "2.53");
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-scalar-" + tag);
    }
  }
};

TAPEDECK_TEST(TensorPicturesTest)
#include "tst_tensor_pictures.moc"
