// A notebook that has a file is saved by itself: never over what another program wrote, never what its user
// has not saved yet, and an error is reported once.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QAction>
#include <QInputDialog>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QToolButton>
#include <csignal>

#include "app/notebook/view/code_editor.h"
#include "app/shell/opening/file_control.h"
#include "tests/app/window_fixture.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

class TestAutosave : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  /// While this lives, writing a file fails beyond a size, as on a full disk.
  struct SmallDisk {
    rlimit old;
    SmallDisk() {
      std::signal(SIGXFSZ, SIG_IGN);
      ::getrlimit(RLIMIT_FSIZE, &old);
      const rlimit tiny = {16, old.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &tiny);
    }
    ~SmallDisk() { ::setrlimit(RLIMIT_FSIZE, &old); }
  };
  /// root may write everywhere.
  struct Unprivileged {
    const bool root = ::geteuid() == 0;
    Unprivileged() {
      if (root && ::setresuid(65534, 65534, 0) != 0) qFatal("cannot be an ordinary user");
    }
    ~Unprivileged() {
      if (root && ::setresuid(0, 0, 0) != 0) qFatal("cannot be root again");
    }
  };

  QString messages() const { return window_->messages()->text(); }
  QString savedAt() const { return window_->findChild<QLabel*>("savedAt")->text(); }

  static void type(const QString& text) {
    if (!qobject_cast<CodeEditor*>(QApplication::focusWidget()))
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QTest::keyClicks(QApplication::focusWidget(), text);
  }
  void press(const QString& text) const {
    for (QPushButton* button : window_->messages()->findChildren<QPushButton*>())
      if (button->text() == text && button->isVisible()) return QTest::mouseClick(button, Qt::LeftButton);
    QFAIL(qPrintable("no button " + text));
  }
  void closeMessages() const {
    for (QToolButton* close : window_->messages()->findChildren<QToolButton*>("closeMessage"))
      if (close->isVisible()) QTest::mouseClick(close, Qt::LeftButton);
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    QCOMPARE(Autosave::default_seconds, 120);  // as JupyterLab
  }
  void init() {
    window_ = newWindow();
    window_->files()->autosave()->setInterval(60);
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void whatIsTypedComesIntoTheFileAndTypingGoesOn() {
    const QString path = writeNotebook(folder_, "own.ipynb", {"old"});
    window_->openNotebook(path);
    QVERIFY(savedAt().isEmpty());
    type("abc");
    QTRY_VERIFY_WITH_TIMEOUT(contents(path).contains("abcold"), patience);
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY2(QRegularExpression("^saved \\d\\d:\\d\\d$").match(savedAt()).hasMatch(), qPrintable(savedAt()));
    QVERIFY2(messages().isEmpty(), qPrintable(messages()));
    shots(window_.get(), "autosave-saved");
    // The text cursor and what can be taken back are as they were.
    type("d");
    QCOMPARE(window_->document()->cell(0).source, QString("abcdold"));
    QTRY_VERIFY_WITH_TIMEOUT(contents(path).contains("abcdold"), patience);
    for (int i = 0; i < 4 && window_->document()->cell(0).source != "old"; ++i)
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window_->document()->cell(0).source, QString("old"));
  }

  void whatHasNoFileOfItsOwnIsNot_data() {
    QTest::addColumn<QString>("what");
    for (const char* what : {"untitled", "sample", "program"}) QTest::newRow(what) << QString(what);
  }
  void whatHasNoFileOfItsOwnIsNot() {
    QFETCH(QString, what);
    const QString program = write(folder_.filePath("program.py"), "old = 1\n");
    if (what == "untitled") QTest::keyClick(window_.get(), Qt::Key_N, Qt::ControlModifier);
    if (what == "sample") window_->openNotebook(sample("noisy_square.ipynb"));
    if (what == "program") window_->openNotebook(program);
    type("abc");
    QVERIFY(window_->document()->modified());
    nothingMayHappenFor(300);
    QVERIFY(window_->document()->modified());
    QVERIFY(savedAt().isEmpty());
    QCOMPARE(contents(program), "old = 1\n");
  }

  void itCanBeSwitchedOffAndItsIntervalChosen() {
    const QString path = writeNotebook(folder_, "off.ipynb", {"old"});
    window_->openNotebook(path);
    QAction* action = window_->findChild<QAction*>("file.autosave");
    QVERIFY(action->isChecked());
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY(!action->isChecked() && !Autosave::on());
    const auto other = newWindow();
    QVERIFY(!other->findChild<QAction*>("file.autosave")->isChecked());
    QVERIFY(showActive(window_.get()));
    type("abc");
    nothingMayHappenFor(300);
    QVERIFY(!contents(path).contains("abc"));
    QCOMPARE(chooseInMenus(window_.get(), "file.autosave"), QString());
    QVERIFY(other->findChild<QAction*>("file.autosave")->isChecked());
    QTRY_VERIFY_WITH_TIMEOUT(contents(path).contains("abc"), patience);
    QTimer::singleShot(0, this, [] {
      auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      QVERIFY(dialog);
      auto* seconds = dialog->findChild<QSpinBox*>();
      QCOMPARE(seconds->value(), Autosave::default_seconds);
      seconds->setValue(30);
      QTest::keyClick(seconds, Qt::Key_Return);
    });
    window_->findChild<QAction*>("file.autosave_interval")->trigger();
    QCOMPARE(Autosave::seconds(), 30);
  }

  void whatAnotherProgramWroteStays() {
    const QString path = writeNotebook(folder_, "shared.ipynb", {"first"});
    window_->openNotebook(path);
    window_->files()->autosave()->setInterval(100'000);
    type("mine");
    const QByteArray theirs = contents(path).replace("first", "theirs");
    write(path, theirs);
    window_->files()->autosave()->setInterval(30);
    QTRY_VERIFY2(messages().contains("shared.ipynb was changed by another program"), qPrintable(messages()));
    for (const char* choice : {"Reload", "Save as…"}) {
      const auto buttons = window_->messages()->findChildren<QPushButton*>();
      QVERIFY2(
          std::any_of(buttons.begin(), buttons.end(), [&](auto* each) { return each->text() == choice; }),
          choice);
    }
    nothingMayHappenFor(200);
    QCOMPARE(contents(path), theirs);
    // A closed message is no permission, and does not come back by itself.
    closeMessages();
    nothingMayHappenFor(300);
    QCOMPARE(contents(path), theirs);
    QVERIFY2(messages().isEmpty(), qPrintable(messages()));
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY2(messages().contains("so it was not saved"), qPrintable(messages()));
    press("Replace it with mine");
    QTRY_VERIFY(contents(path).contains("minefirst"));
    // From then on it goes on by itself.
    type("again");
    QTRY_VERIFY_WITH_TIMEOUT(contents(path).contains("mineagainfirst"), patience);
  }

  void aFileThatWasRemovedDoesNotComeBackByItself() {
    const QString path = writeNotebook(folder_, "removed.ipynb", {"first"});
    window_->openNotebook(path);
    window_->files()->autosave()->setInterval(100'000);
    type("mine");
    QVERIFY(QFile::remove(path));
    window_->files()->autosave()->setInterval(30);
    QTRY_VERIFY2(messages().contains("removed.ipynb was deleted or moved"), qPrintable(messages()));
    nothingMayHappenFor(300);
    QVERIFY(!QFile::exists(path));
    press("Save it again");
    QTRY_VERIFY(contents(path).contains("minefirst"));
  }

  void aFolderThatCannotBeWrittenIsToldOnce_data() {
    QTest::addColumn<bool>("full");
    QTest::newRow("full disk") << true;
    QTest::newRow("read-only folder") << false;
  }
  void aFolderThatCannotBeWrittenIsToldOnce() {
    QFETCH(bool, full);
    QTemporaryDir folder;
    const QString path = writeNotebook(folder, "stuck.ipynb", {"first"});
    const QByteArray before = contents(path);
    window_->openNotebook(path);
    QVERIFY(::chmod(qPrintable(path), 0666) == 0);
    QPixmap shot;  // written when there is room again
    {
      std::unique_ptr<SmallDisk> disk;
      std::unique_ptr<Unprivileged> user;
      if (full) {
        disk = std::make_unique<SmallDisk>();
      } else {
        QVERIFY(::chmod(qPrintable(folder.path()), 0555) == 0);
        user = std::make_unique<Unprivileged>();
      }
      type("mine");
      QTRY_VERIFY2_WITH_TIMEOUT(messages().contains("Autosave failed and will try again"),
                                qPrintable(messages()), patience);
      QVERIFY2(messages().contains(full ? "larger than this process may write" : "you have no permission"),
               qPrintable(messages()));
      QCOMPARE(savedAt(), QString("not saved"));
      shot = window_->grab();
      window_->messages()->dismiss("file.autosave");
      nothingMayHappenFor(400);
      QVERIFY2(!messages().contains("Autosave"), qPrintable(messages()));
      QCOMPARE(contents(path), before);
      type("more");
      QVERIFY2(!messages().contains("Autosave"), qPrintable(messages()));
    }
    QVERIFY(::chmod(qPrintable(folder.path()), 0755) == 0);
    shot.save(QString(TAPEDECK_BUILD_DIR "/screenshots/autosave-%1.png").arg(full ? "full" : "read-only"));
    QTRY_VERIFY_WITH_TIMEOUT(contents(path).contains("minemorefirst"), patience);
    QTRY_VERIFY(savedAt().startsWith("saved "));
  }
};

TAPEDECK_TEST(TestAutosave)
#include "tst_autosave.moc"
