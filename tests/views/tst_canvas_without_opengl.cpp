// A canvas where OpenGL does not work.
#include <QLabel>
#include <QTest>
#include <QVBoxLayout>

#include "inspector/ui/canvas/canvas_painter.h"
#include "inspector/ui/canvas/canvas_widget.h"
#include "tests/test_program.h"
#include "view_test.h"

using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

class SampleWithoutOpenGl : public CanvasWidget {
 public:
  using CanvasWidget::CanvasWidget;
  int painted = 0;

 protected:
  void paintCanvas(CanvasPainter&) override { ++painted; }
};

}  // namespace

class WithoutOpenGlTest : public QObject {
  Q_OBJECT
 private slots:
  void saysSoAndTheWindowWorksOn() {
    QVERIFY(!CanvasWidget::openGlWorks());
    QWidget window;
    auto* layout = new QVBoxLayout(&window);
    auto* canvas = new SampleWithoutOpenGl(&window);
    auto* label = new QLabel(QStringLiteral("beside"), &window);
    label->setAutoFillBackground(true);
    QPalette red;
    red.setColor(QPalette::Window, Qt::red);
    label->setPalette(red);
    layout->addWidget(canvas, 1);
    layout->addWidget(label);
    window.resize(500, 300);
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window, tapedeck::patience));
    QVERIFY2(canvas->problem().contains(QStringLiteral("OpenGL 3.2")), qPrintable(canvas->problem()));
    QVERIFY(canvas->problem().contains(QStringLiteral("libgl1-mesa-dri")));
    canvas->requestFrame();
    QTest::mouseClick(canvas, Qt::LeftButton);
    QTest::keyClick(canvas, Qt::Key_F);
    tapedeck::nothingMayHappenFor(50);
    QCOMPARE(canvas->painted, 0);
    QVERIFY(canvas->grabFramebuffer().isNull());
    QCOMPARE(label->grab().toImage().pixelColor(label->width() - 3, label->height() - 3), QColor(Qt::red));
  }
};

TAPEDECK_TEST(
    WithoutOpenGlTest, .alone = "whether OpenGL works is asked once in a process",
    .before = [] { qputenv("QT_XCB_GL_INTEGRATION", "none"); })
#include "tst_canvas_without_opengl.moc"
