// The notebook as a file, in the window: samples are copies, no work is overwritten, nothing waits for
// a disk.
#include <sys/stat.h>

#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTimer>

#include "app/shell/opening/file_control.h"
#include "app/shell/window/samples.h"
#include "tests/app/window_fixture.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

QPushButton* button(const QWidget* in, const QString& text) {
  for (QPushButton* button : in->findChildren<QPushButton*>())
    if (button->text() == text && button->isVisible()) return button;
  return nullptr;
}

void press(const QWidget* in, const QString& text) {
  QPushButton* found = button(in, text);
  QVERIFY2(found, qPrintable("no button " + text));
  QTest::mouseClick(found, Qt::LeftButton);
}

/// Types into the first cell as a user does.
void type(MainWindow* window, const QString& text) {
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  QTest::keyClicks(QApplication::focusWidget(), text);
  QTRY_VERIFY(window->document()->cell(0).source.contains(text));
}

/// Answers the next dialog: a file dialog with a path, a question with a button.
class Answers : public QObject {
 public:
  explicit Answers(const QString& path, QMessageBox::StandardButton answer = QMessageBox::NoButton) {
    connect(&timer_, &QTimer::timeout, this, [this, path, answer] {
      QWidget* dialog = QApplication::activeModalWidget();
      if (auto* files = qobject_cast<QFileDialog*>(dialog); files && !path.isNull()) {
        began = files->directory().absolutePath();
        suggested = files->findChild<QLineEdit*>("fileNameEdit")->text();
        auto* name = files->findChild<QLineEdit*>("fileNameEdit");
        name->setText(path);
        // Not in here: a timer does not go off again while a question is open that it led to.
        QTimer::singleShot(0, name, [name] { QTest::keyClick(name, Qt::Key_Return); });
      } else if (auto* box = qobject_cast<QMessageBox*>(dialog); box && answer != QMessageBox::NoButton) {
        question = box->text();
        QTimer::singleShot(0, box, [box, answer] { QTest::mouseClick(box->button(answer), Qt::LeftButton); });
      }
    });
    timer_.start(50);
  }
  QString began, suggested, question;

 private:
  QTimer timer_;
};

QList<MainWindow*> windows() {
  QList<MainWindow*> found;
  for (QWidget* widget : QApplication::topLevelWidgets())
    if (auto* window = qobject_cast<MainWindow*>(widget); window && window->isVisible()) found << window;
  return found;
}

/// A notebook of about a hundred megabytes: what pictures of a long training weigh.
QByteArray large(int megabytes) {
  QByteArray bytes =
      R"({"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": ["x"]})";
  for (int i = 0; i < megabytes; ++i)
    bytes += QByteArray(R"(, {"cell_type": "raw", "id": "r)") + QByteArray::number(i) +
             R"(", "metadata": {"kept": ")" + QByteArray(1 << 20, 'A') + R"("}, "source": []})";
  return bytes + R"(], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})";
}

/// How often the event loop came around.
struct Heartbeat {
  QTimer timer;
  int beats = 0;
  Heartbeat() {
    QObject::connect(&timer, &QTimer::timeout, [this] { ++beats; });
    timer.start(5);
  }
};

}  // namespace

class TestFiles : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  MainWindow* window_ = nullptr;

  void show() {
    window_ = new MainWindow;
    if (!showActive(window_)) qWarning("the window did not become active");
  }
  QString messages() const { return window_->messages()->text(); }

 private slots:
  void initTestCase() {
    useOwnSettings();
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QApplication::setQuitOnLastWindowClosed(false);
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
  }
  void init() { show(); }
  void cleanup() {
    for (MainWindow* window : windows()) delete window;
  }

  void aSampleIsOpenedAsACopyAndItsFileStays_data() {
    QTest::addColumn<bool>("fromStartPage");
    QTest::newRow("start page") << true;
    QTest::newRow("./run.sh samples/noisy_square.ipynb") << false;
  }
  void aSampleIsOpenedAsACopyAndItsFileStays() {
    QFETCH(bool, fromStartPage);
    const QString path = sample("noisy_square.ipynb");
    const QByteArray before = contents(path);
    if (fromStartPage)
      QTest::mouseClick(window_->findChild<QAbstractButton*>("open:noisy_square.ipynb"), Qt::LeftButton);
    else
      window_->openNotebook(path);
    QVERIFY2(window_->windowTitle().startsWith("Noisy square (copy)"), qPrintable(window_->windowTitle()));
    QVERIFY(window_->document()->path().isEmpty());
    QCOMPARE(window_->document()->folder(), QFileInfo(path).absolutePath());
    window_->document()->setSource(0, "mine");
    QTemporaryDir home;
    {
      Answers dialog(home.filePath("my square"), QMessageBox::Yes);
      QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
      QCOMPARE(dialog.began, QDir::homePath());
      QCOMPARE(dialog.suggested, QString("Noisy square (copy).ipynb"));
    }
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY(contents(home.filePath("my square.ipynb")).contains("mine"));
    QCOMPARE(window_->document()->path(), home.filePath("my square.ipynb"));
    // Not even on request.
    QVERIFY(showActive(window_));  // without a window manager the window does not get the focus back
    {
      Answers dialog(path, QMessageBox::Yes);
      QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
    }
    QTRY_VERIFY2(messages().contains("comes with the program"), qPrintable(messages()));
    QCOMPARE(contents(path), before);
    QVERIFY(!recentNotebooks().contains(path));
    QSettings().clear();
  }

  void aNotebookThatIsOpenComesToTheFront() {
    const QString path = writeNotebook(folder_, "twice.ipynb", {"1"});
    window_->openNotebook(path);
    const QString other = writeNotebook(folder_, "other.ipynb", {"2"});
    window_->openNotebook(other);
    QTRY_COMPARE(windows().size(), 2);
    for (MainWindow* window : windows())
      if (window != window_) {
        QCOMPARE(window->document()->path(), other);
        QVERIFY(QFile::link(path, folder_.filePath("link.ipynb")));
        window->openNotebook(folder_.filePath("link.ipynb"));
      }
    QCOMPARE(windows().size(), 2);
    QTRY_VERIFY(window_->isActiveWindow());
  }

  void aFileThatAnotherWindowHasOpenIsNotSavedOver() {
    const QString path = writeNotebook(folder_, "held.ipynb", {"held"});
    const QByteArray before = contents(path);
    window_->openNotebook(path);
    window_->openNotebook(writeNotebook(folder_, "free.ipynb", {"free"}));
    QTRY_COMPARE(windows().size(), 2);
    MainWindow* other = windows()[windows()[0] == window_ ? 1 : 0];
    QVERIFY(showActive(other));
    Answers dialog(path, QMessageBox::Yes);
    QTest::keyClick(other, Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY2(other->messages()->text().contains("open in another window"),
                 qPrintable(other->messages()->text()));
    QCOMPARE(contents(path), before);
    QCOMPARE(window_->document()->path(), path);
  }

  void whatAnotherProgramWroteIsNotOverwritten_data() {
    QTest::addColumn<bool>("replaced");
    QTest::newRow("written in place") << false;
    QTest::newRow("replaced by another file") << true;
  }
  void whatAnotherProgramWroteIsNotOverwritten() {
    QFETCH(bool, replaced);
    const QString path = writeNotebook(folder_, "shared.ipynb", {"first"});
    window_->openNotebook(path);
    type(window_, "mine ");
    QByteArray theirs = contents(path);
    theirs.replace("first", "theirs");
    const auto another = [&](const QByteArray& bytes) {
      if (replaced) {
        write(path + ".new", bytes);
        QCOMPARE(::rename(qPrintable(path + ".new"), qPrintable(path)), 0);
      } else {
        write(path, bytes);
      }
    };
    another(theirs);
    QTRY_VERIFY2(messages().contains("shared.ipynb was changed by another program"), qPrintable(messages()));
    screenshot(window_, "files-changed-outside");
    QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY2(messages().contains("so it was not saved"), qPrintable(messages()));
    QCOMPARE(contents(path), theirs);
    QVERIFY(window_->document()->modified());
    // Taken over deliberately.
    press(window_, "Replace it with mine");
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY(contents(path).contains("mine"));
    QTRY_VERIFY2(messages().isEmpty(), qPrintable(messages()));
    // Own saving is no other program's; a touch with the same bytes is no change.
    nothingMayHappenFor(400);
    another(contents(path));
    nothingMayHappenFor(400);
    QVERIFY2(messages().isEmpty(), qPrintable(messages()));
    // And the other way: theirs comes here.
    another(theirs);
    QTRY_VERIFY(messages().contains("changed by another program"));
    press(window_, "Reload");
    QTRY_COMPARE(window_->document()->cell(0).source, QString("theirs"));
    QVERIFY(!window_->document()->modified());
    QVERIFY(messages().isEmpty());
    // Kept: the next save replaces it without another question.
    another(contents(path).replace("theirs", "again"));
    QTRY_VERIFY(messages().contains("changed by another program"));
    press(window_, "Keep mine");
    QVERIFY(window_->document()->modified());
    QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY(contents(path).contains("theirs"));
  }

  void aDeletedFileIsToldAndCanBeSavedAgain() {
    const QString path = writeNotebook(folder_, "gone.ipynb", {"first"});
    window_->openNotebook(path);
    QVERIFY(QFile::remove(path));
    QTRY_VERIFY2(messages().contains("gone.ipynb was deleted"), qPrintable(messages()));
    QVERIFY(window_->document()->modified());
    press(window_, "Save it again");
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY(contents(path).contains("first"));
  }

  void anotherProcessThatHasItOpenIsTold() {
    const QString path = writeNotebook(folder_, "both.ipynb", {"first"});
    QProcess other;
    other.start(QCoreApplication::applicationFilePath(), {"--hold", path});
    QVERIFY(other.waitForReadyRead(patience));
    window_->openNotebook(path);
    QVERIFY2(messages().contains("also open in another Tapedeck process"), qPrintable(messages()));
    press(window_, "Make this one a copy");
    QVERIFY(window_->windowTitle().startsWith("both (copy)"));
    QVERIFY(window_->document()->path().isEmpty() && window_->document()->modified());
    QCOMPARE(window_->document()->folder(), folder_.path());
    other.kill();
    other.waitForFinished();
    // A program that died has it open no longer.
    delete window_;
    show();
    window_->openNotebook(path);
    QVERIFY2(messages().isEmpty(), qPrintable(messages()));
  }

  void aLargeNotebookIsReadAndWrittenWhileTheWindowLives() {
    const QString path = folder_.filePath("large.ipynb");
    write(path, large(100));
    const qint64 before = QFileInfo(path).size();
    window_->files()->setPatience(0);  // a quick machine is done before people would ask
    window_->openNotebook(path);
    QTRY_VERIFY_WITH_TIMEOUT(button(window_, "Cancel"), patience);
    QVERIFY2(messages().contains("Opening large.ipynb"), qPrintable(messages()));
    press(window_, "Cancel");
    {
      // Asked for again while the first reading ends.
      const Heartbeat loop;
      window_->openNotebook(path);
      QVERIFY(window_->document()->path().isEmpty());
      QTRY_COMPARE_WITH_TIMEOUT(window_->document()->path(), path, patience);
      QVERIFY2(loop.beats > 5, qPrintable(QString::number(loop.beats)));
    }
    type(window_, "first ");
    const Heartbeat loop;
    QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
    // What is typed while it is saved is not lost, and not saved either.
    QTest::keyClicks(QApplication::focusWidget(), "second ");
    QVERIFY(window_->document()->modified());
    QTRY_COMPARE_WITH_TIMEOUT(QFileInfo(path).size(), before + 6, patience);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->files()->busy(), patience);
    QVERIFY(window_->document()->modified());
    QVERIFY2(loop.beats > 5, qPrintable(QString::number(loop.beats)));
    // Closing saves, and then closes; nothing is lost on the way.
    QPointer<MainWindow> window = window_;
    {
      Answers question(QString(), QMessageBox::Save);
      window_->close();
    }
    QTRY_VERIFY_WITH_TIMEOUT(!window, patience);
    QVERIFY(contents(path).contains("first second "));
    QCOMPARE(QFileInfo(path).size(), before + 13);
  }

  void aReadingThatIsCancelledOpensNothing() {
    const QString path = folder_.filePath("cancelled.ipynb");
    write(path, large(100));
    window_->files()->setPatience(0);
    window_->openNotebook(path);
    QTRY_VERIFY_WITH_TIMEOUT(button(window_, "Cancel"), patience);
    press(window_, "Cancel");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->files()->busy(), patience);
    QVERIFY2(messages().isEmpty(), qPrintable(messages()));
    QVERIFY(window_->document()->path().isEmpty());
    QVERIFY(!window_->notebook()->isVisible());  // the start page is still there
    QVERIFY(window_->windowTitle().startsWith("Tapedeck"));
  }

  void closingWhileASaveRunsWaitsForIt() {
    const QString path = folder_.filePath("closing.ipynb");
    write(path, large(20));
    window_->openNotebook(path);
    QTRY_COMPARE_WITH_TIMEOUT(window_->document()->path(), path, patience);
    type(window_, "typed ");
    QPointer<MainWindow> window = window_;
    QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
    window_->close();
    QVERIFY(window && window->isVisible());
    QTRY_VERIFY_WITH_TIMEOUT(!window, patience);
    QVERIFY(contents(path).contains("typed "));
  }

  void quittingSavesOneWindowAfterTheOther() {
    const QString one = writeNotebook(folder_, "one.ipynb", {"1"}),
                  two = writeNotebook(folder_, "two.ipynb", {"2"});
    window_->openNotebook(one);
    window_->openNotebook(two);
    for (MainWindow* window : windows()) window->document()->setSource(0, "quit");
    QCOMPARE(windows().size(), 2);
    const Answers question(QString(), QMessageBox::Save);
    window_->findChild<QAction*>("file.quit")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(windows().isEmpty(), patience);
    QVERIFY(contents(one).contains("quit"));
    QVERIFY(contents(two).contains("quit"));
  }

  void savingKeepsLinksAndPermissions() {
    const QString path = writeNotebook(folder_, "real.ipynb", {"first"});
    const QString link = folder_.filePath("way.ipynb");
    ::chmod(qPrintable(path), 0640);
    QVERIFY(QFile::link(path, link));
    window_->openNotebook(link);
    type(window_, "typed ");
    QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY(QFileInfo(link).isSymLink());
    QVERIFY(contents(path).contains("typed "));
    struct stat status;
    QCOMPARE(::stat(qPrintable(path), &status), 0);
    QCOMPARE(status.st_mode & 0777, 0640U);
    QVERIFY2(messages().isEmpty(), qPrintable(messages()));
  }
};

namespace {

/// Another program that has the notebook open.
int holdNotebook(int argc, char** argv) {
  QApplication application(argc, argv);
  QCoreApplication::setOrganizationName("tapedeck-test");
  QCoreApplication::setApplicationName("Tapedeck");
  OpenMark mark;
  if (argc != 3 || !mark.set(argv[2])) return 1;
  std::puts("held");
  std::fflush(stdout);
  return application.exec();
}

}  // namespace

TAPEDECK_TEST_PROCESS("--hold", holdNotebook)
TAPEDECK_TEST(TestFiles)
#include "tst_files.moc"
