// Letters on a real canvas: what is written can be read at every size.
#include <QTest>
#include <cmath>

#include "inspector/ui/canvas/canvas_painter.h"
#include "inspector/ui/canvas/canvas_widget.h"
#include "tests/test_program.h"
#include "view_test.h"

using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

/// One text, as the tape and the tensors write it, at any size and place.
class Written : public CanvasWidget {
 public:
  QString text;
  double size = 11;
  QPointF at{20, 20};
  FontRole role = FontRole::regular;
  double width = 0;

  QImage picture() {
    requestFrame();
    return grabFramebuffer();
  }

 protected:
  void paintCanvas(CanvasPainter& painter) override {
    width = painter.text(at, text, size, painter.theme().text, role);
  }
};

/// Pixels of the picture that are at least half as dark as the text's colour.
int strongPixels(const QImage& image) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) count += qGray(image.pixel(x, y)) < 140;
  return count;
}

}  // namespace

class CanvasTextTest : public QObject {
  Q_OBJECT

 private:
  void prepare(Written& canvas) {
    qApp->setPalette(lightPalette());
    canvas.resize(400, 200);
    canvas.show();
    QVERIFY(QTest::qWaitForWindowExposed(&canvas, tapedeck::patience));
  }

 private slots:
  void aMinusSignIsSeenAtEveryZoom_data() {
    QTest::addColumn<FontRole>("role");
    QTest::newRow("regular") << FontRole::regular;
    QTest::newRow("bold") << FontRole::bold;
    QTest::newRow("mono") << FontRole::mono;
  }
  void aMinusSignIsSeenAtEveryZoom() {
    QFETCH(FontRole, role);
    Written canvas;
    prepare(canvas);
    canvas.role = role;
    for (int step = 0; step < 50; ++step) {
      const double zoom = 0.6 + step * 0.048;
      canvas.size = 11 * zoom;
      canvas.at = QPointF(20 + 0.37 * step, 20 + 0.21 * step);
      canvas.text = QStringLiteral("1");
      const QImage without = canvas.picture();
      canvas.text = QStringLiteral("-");
      canvas.picture();
      const QRect sign(static_cast<int>(std::lround(canvas.at.x())), 0, static_cast<int>(canvas.width), 200);
      canvas.text = QStringLiteral("-1");
      const QImage with = canvas.picture();
      QVERIFY(with != without);
      // The sign is at least a fifth of an em of strong pixels.
      const int strong = strongPixels(with.copy(sign));
      QVERIFY2(strong >= std::max(1, static_cast<int>(canvas.size / 5)),
               qPrintable(QStringLiteral("zoom %1: %2 pixels").arg(zoom).arg(strong)));
    }
  }

  void aTextLooksTheSameWhereverItStands() {
    Written canvas;
    prepare(canvas);
    canvas.text = QStringLiteral("-0.09007189");
    canvas.at = {20, 20};
    const QImage reference = canvas.picture().copy(15, 15, 200, 40);
    QVERIFY(strongPixels(reference) > 40);
    for (const QPointF by : {QPointF(7.3, 3.4), QPointF(30.49, 11.2), QPointF(1.0, 0.6)}) {
      canvas.at = QPointF(20, 20) + by;
      const QPoint moved(static_cast<int>(std::lround(by.x())), static_cast<int>(std::lround(by.y())));
      const QImage now = canvas.picture();
      // The baseline is rounded once more.
      const bool same = now.copy(15 + moved.x(), 15 + moved.y(), 200, 40) == reference ||
                        now.copy(15 + moved.x(), 14 + moved.y(), 200, 40) == reference ||
                        now.copy(15 + moved.x(), 16 + moved.y(), 200, 40) == reference;
      QVERIFY2(same, qPrintable(QStringLiteral("%1, %2").arg(by.x()).arg(by.y())));
    }
  }

  void manySizesAtOnceAllAppear() {
    // More glyphs than the texture has room for at first: it grows, and the frame is painted again.
    class Many : public CanvasWidget {
     public:
      int painted = 0;

     protected:
      void paintCanvas(CanvasPainter& painter) override {
        ++painted;
        for (int size = 8; size < 90; ++size)
          painter.text({4, 2}, QStringLiteral("0123456789abcdefghijklmnopqrstuvwxyz"), size,
                       painter.theme().background);
        painter.text({20, 120}, QStringLiteral("-1"), 30, painter.theme().text);
      }
    };
    qApp->setPalette(lightPalette());
    Many canvas;
    canvas.resize(400, 200);
    canvas.show();
    QVERIFY(QTest::qWaitForWindowExposed(&canvas, tapedeck::patience));
    QTRY_VERIFY(canvas.painted > 1);
    QVERIFY(strongPixels(canvas.grabFramebuffer().copy(10, 110, 100, 60)) > 60);
    const int before = canvas.painted;
    canvas.requestFrame();
    canvas.grabFramebuffer();
    QCOMPARE(canvas.painted, before + 1);  // now there is room
  }

  void charactersOfOtherFontsAreNoBoxes() {
    Written canvas;
    prepare(canvas);
    canvas.text = QString(QChar(0xE123));  // private use
    const QImage box = canvas.picture();
    for (const char* text : {"ᵀ", "∂", "→", "·", "×", "Ж", "⛔", "🎉"}) {
      canvas.text = QString::fromUtf8(text);
      QVERIFY2(canvas.picture() != box, text);
      QVERIFY(canvas.width > 2);
    }
  }
};

TAPEDECK_TEST(CanvasTextTest)
#include "tst_canvas_text.moc"
