// "Save picture" by mouse and by the menu key: what lands in the file is what was shown.
#include <unistd.h>

#include <QApplication>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTimer>
#include <QtTest>

#include "app/notebook/output/image_output.h"
#include "tests/files.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;
using nlohmann::json;

namespace {

const char* const hostile =
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='60' "
    "height='40' onload='steal()'><script>steal()</script><style>@import url(http://tracker/x);</style>"
    "<image href='http://tracker/p.png'/><image xlink:href='file:///etc/passwd'/>"
    "<use href='http://tracker/u.svg#a'/><foreignObject><iframe src='http://tracker'/></foreignObject>"
    "<a href='javascript:steal()'><rect width='60' height='40' fill='#ff0000' onclick='steal()'/></a></svg>";

/// Chooses "Save picture as…" in the open menu, then the path in the file dialog, and replaces what is there.
/// A timer each: what a press opens runs inside of it, and no timer comes while it is being answered.
class Chooser : public QObject {
 public:
  explicit Chooser(const QString& path) {
    every(menus_, [] {
      if (QWidget* menu = QApplication::activePopupWidget()) QTest::keyClick(menu, Qt::Key_S);
    });
    every(dialogs_, [this, path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr) return;
      begun = dialog->directory().path();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
    every(questions_, [] {
      if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget()))
        box->button(QMessageBox::Yes)->click();
    });
  }
  QString begun;

 private:
  template <class Function>
  void every(QTimer& timer, Function function) {
    connect(&timer, &QTimer::timeout, this, function);
    timer.start(50);
  }
  QTimer menus_, dialogs_, questions_;
};

}  // namespace

class TestSavePicture : public QObject {
  Q_OBJECT

  QTemporaryDir settings_;

 private slots:
  void initTestCase() {
    qputenv("XDG_CONFIG_HOME", settings_.path().toUtf8());
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  }

  void hostileSvgIsSavedWithoutWhatReachesOut() {
    QTemporaryDir folder;
    const QString path = folder.filePath("saved.svg");
    // What it replaces is longer: nothing of it may stay behind.
    QFile old(path);
    QVERIFY(old.open(QIODevice::WriteOnly));
    old.write(QByteArray(100'000, '<'));
    old.close();
    QTemporaryDir elsewhere;  // its other name keeps what it had: the file is replaced, not written over
    QCOMPARE(::link(qPrintable(path), qPrintable(elsewhere.filePath("other.svg"))), 0);
    Window window(
        json::array({codeCell("c", "draw()", json::array({display({{"image/svg+xml", hostile}})}), 1)}));
    window.view.setWindowFilePath(folder.filePath("book.ipynb"));
    auto* picture = window.output<ImageOutput>();
    QTRY_VERIFY_WITH_TIMEOUT(picture->told().isEmpty(), tapedeck::patience);
    Chooser chooser(path);
    QContextMenuEvent open(QContextMenuEvent::Mouse, QPoint(10, 10), picture->mapToGlobal(QPoint(10, 10)));
    QApplication::sendEvent(picture, &open);
    QTRY_VERIFY(contents(path).contains("<rect") || contents(path).contains(":rect"));
    const QByteArray saved = contents(path);
    for (const char* bad : {"script", "steal", "tracker", "passwd", "foreignObject", "iframe", "onload",
                            "onclick", "import", "javascript"})
      QVERIFY2(!saved.contains(bad), bad);
    QVERIFY(saved.trimmed().endsWith("</svg>"));
    QCOMPARE(chooser.begun, folder.path());
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden).size(), 1);
    QCOMPARE(contents(elsewhere.filePath("other.svg")), QByteArray(100'000, '<'));
  }

  void theMenuKeyOpensTheMenuOfThePictureThatWasClicked() {
    QTemporaryDir folder;
    const QString path = folder.filePath("saved.png");
    Window window(json::array(
        {codeCell("c", "draw()", json::array({display({{"image/png", picture(60, 30, "PNG")}})}), 1)}));
    auto* image = window.output<ImageOutput>();
    QTest::mouseClick(image, Qt::LeftButton, Qt::NoModifier, QPoint(10, 10));
    QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(image));
    Chooser chooser(path);
    QContextMenuEvent open(QContextMenuEvent::Keyboard, QPoint(), QPoint());
    QApplication::sendEvent(QApplication::focusWidget(), &open);
    QTRY_VERIFY(QFileInfo(path).size() > 0);
    QCOMPARE(QImage(path).size(), QSize(60, 30));
  }
};

TAPEDECK_TEST(TestSavePicture)
#include "tst_save_picture.moc"
