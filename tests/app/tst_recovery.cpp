// The program is killed while the user types: the text is offered until the user decides, and never lost
// on the way.
#include <QDialog>
#include <QFileDialog>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QStandardPaths>
#include <QTimer>
#include <QToolButton>
#include <csignal>

#include "app/control/recovery.h"
#include "app/control/recovery_journal.h"
#include "app/notebook/view/notebook_view.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/opening/recoveries.h"
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
  QPushButton* found = nullptr;
  QVERIFY2(waitFor([&] { return (found = button(in, text)) != nullptr; }), qPrintable("no button " + text));
  QTest::mouseClick(found, Qt::LeftButton);
}

/// All recovery files, of whatever process.
QStringList recoveryFiles() {
  const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
  QStringList files;
  for (const QString& name : QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
    for (const QString& file : QDir(root + "/" + name).entryList({"*.recovery"}, QDir::Files))
      files << root + "/" + name + "/" + file;
  return files;
}

bool isKept(const QByteArray& text) {
  for (const QString& file : recoveryFiles())
    if (contents(file).contains(text) || contents(journalOf(file)).contains(text)) return true;
  return false;
}

void answerQuestion(QMessageBox::StandardButton answer, QString* question) {
  auto* timer = new QTimer(qApp);
  QObject::connect(timer, &QTimer::timeout, timer, [timer, answer, question] {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    if (!box) return;
    *question = box->text();
    timer->deleteLater();
    QTest::mouseClick(box->button(answer), Qt::LeftButton);
  });
  timer->start(50);
}

}  // namespace

class TestRecovery : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  MainWindow* window_ = nullptr;

  QString messages() const { return window_->messages()->text(); }

  void show() {
    window_ = new MainWindow;
    if (!showActive(window_)) qWarning("the window did not become active");
  }

  /// A program of its own, with a window of its own: types `text` into `notebook` (a path; "new"; a sample's
  /// path), and is killed when nothing was typed for a while.
  void typeAndDie(const QString& notebook, const QByteArray& text) {
    QProcess program;
    program.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    program.start(QCoreApplication::applicationFilePath(), {"--type", notebook, text});
    QByteArray said;
    QTRY_VERIFY_WITH_TIMEOUT(
        (program.waitForReadyRead(50), said += program.readAll(), said.contains("typed")), patience);
    QTRY_VERIFY_WITH_TIMEOUT(isKept(text), patience);
    ::kill(static_cast<pid_t>(program.processId()), SIGKILL);
    QVERIFY(program.waitForFinished(patience));
  }

 private slots:
  void initTestCase() {
    useOwnSettings();
    QApplication::setQuitOnLastWindowClosed(false);
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
    QVERIFY(RecoveryWriter::default_pause <= 1000 && RecoveryWriter::default_latest <= 4000);
    QVERIFY(RecoveryWriter::default_whole_pause <= 5000 && RecoveryWriter::default_whole_latest <= 30000);
  }
  void cleanup() {
    QList<MainWindow*> windows;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* window = qobject_cast<MainWindow*>(widget)) windows << window;
    qDeleteAll(windows);
    for (const QString& file : recoveryFiles()) QFile::remove(file);
    QSettings().clear();
  }

  void whatWasTypedIsOfferedWhenTheNotebookIsOpenedByPath() {
    const QString path = writeNotebook(folder_, "work.ipynb", {"old = 1"});
    typeAndDie(path, "typed_before_the_kill ");
    show();
    window_->openNotebook(path);
    QCOMPARE(window_->document()->cell(0).source, QString("old = 1"));
    QVERIFY2(messages().contains("Unsaved work on this notebook"), qPrintable(messages()));
    screenshot(window_, "recovery-offer");
    press(window_, "Restore it");
    QVERIFY2(window_->document()->cell(0).source.contains("typed_before_the_kill"),
             qPrintable(window_->document()->cell(0).source));
    QCOMPARE(window_->document()->path(), path);
    QVERIFY(window_->document()->modified());
    // The only copy stays until it is saved, which only its user does.
    window_->files()->autosave()->setInterval(30);
    nothingMayHappenFor(200);
    QVERIFY(!contents(path).contains("typed_before_the_kill"));
    QVERIFY(isKept("typed_before_the_kill"));
    QTest::keyClick(window_, Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->document()->modified());
    QVERIFY(contents(path).contains("typed_before_the_kill"));
    QTRY_VERIFY(recoveryFiles().isEmpty());
  }

  void whatWasTypedIsOfferedWhenTheNotebookIsChosenInTheDialog() {
    const QString path = writeNotebook(folder_, "chosen.ipynb", {"old"});
    typeAndDie(path, "typed_and_chosen ");
    show();
    QTimer chooser;
    connect(&chooser, &QTimer::timeout, &chooser, [&] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      chooser.stop();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
    chooser.start(50);
    QTest::keyClick(window_, Qt::Key_O, Qt::ControlModifier);
    QTRY_COMPARE(window_->document()->path(), path);
    QVERIFY2(messages().contains("Unsaved work on this notebook"), qPrintable(messages()));
    press(window_, "Restore it");
    QVERIFY(window_->document()->cell(0).source.contains("typed_and_chosen"));
  }

  void restoredWorkSurvivesAnotherKill() {
    const QString path = writeNotebook(folder_, "again.ipynb", {"old"});
    typeAndDie(path, "survivor ");
    QProcess program;
    program.start(QCoreApplication::applicationFilePath(), {"--restore", path});
    QByteArray said;
    QTRY_VERIFY_WITH_TIMEOUT(
        (program.waitForReadyRead(50), said += program.readAll(), said.contains("restored")), patience);
    // At once: nothing was written since.
    ::kill(static_cast<pid_t>(program.processId()), SIGKILL);
    QVERIFY(program.waitForFinished(patience));
    QVERIFY(isKept("survivor"));
    show();
    window_->openNotebook(path);
    press(window_, "Restore it");
    QVERIFY(window_->document()->cell(0).source.contains("survivor"));
  }

  void theOfferStaysWhenASampleIsClicked() {
    typeAndDie("new", "never_saved ");
    show();
    QVERIFY2(messages().contains("Unsaved work on Untitled1"), qPrintable(messages()));
    QTest::mouseClick(window_->findChild<QAbstractButton*>("open:noisy_square.ipynb"), Qt::LeftButton);
    QVERIFY2(messages().contains("Unsaved work on Untitled1"), qPrintable(messages()));
    QTRY_VERIFY_WITH_TIMEOUT(window_->kernel()->state() != KernelState::starting, patience);
    QVERIFY2(messages().contains("Unsaved work on Untitled1"), qPrintable(messages()));
    // A closed message is not a decision.
    for (QToolButton* close : window_->messages()->findChildren<QToolButton*>())
      QTest::mouseClick(close, Qt::LeftButton);
    QVERIFY(messages().isEmpty());
    QTest::keyClick(window_, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
    QDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = window_->findChild<QDialog*>("recoveredWork")) && dialog->isVisible());
    screenshot(dialog, "recovery-list");
    QCOMPARE(dialog->findChild<QListWidget*>()->count(), 1);
    press(dialog, "Restore it");
    // The sample has its window; what is restored gets one of its own.
    MainWindow* restored = nullptr;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* window = qobject_cast<MainWindow*>(widget); window && window != window_) restored = window;
    QVERIFY(restored);
    QVERIFY(restored->document()->cell(0).source.contains("never_saved"));
    QVERIFY(restored->windowTitle().startsWith("Untitled1"));
    QVERIFY(isKept("never_saved"));
  }

  void throwingAwayAsks() {
    const QString path = writeNotebook(folder_, "away.ipynb", {"old"});
    typeAndDie(path, "precious ");
    show();
    window_->openNotebook(path);
    QString question;
    answerQuestion(QMessageBox::No, &question);
    press(window_, "Discard");
    QVERIFY2(question.contains("away.ipynb"), qPrintable(question));
    QVERIFY(isKept("precious"));
    QVERIFY2(messages().contains("Unsaved work on this notebook"), qPrintable(messages()));
    answerQuestion(QMessageBox::Yes, &question);
    press(window_, "Discard");
    QVERIFY(!isKept("precious"));
    QVERIFY(messages().isEmpty());
  }

  void aSamplesCopyIsRestoredWithItsName() {
    typeAndDie(sample("noisy_square.ipynb"), "in_the_sample ");
    show();
    QVERIFY2(messages().contains("Noisy square (copy)"), qPrintable(messages()));
    press(window_, "Restore it");
    QVERIFY(window_->windowTitle().startsWith("Noisy square (copy)"));
    QCOMPARE(window_->document()->folder(), QFileInfo(sample("noisy_square.ipynb")).absolutePath());
    QVERIFY(window_->document()->path().isEmpty());
  }

  void returnPressesTheButtonThatHasTheKeyboard() {
    const QString folder =
        QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery/keys";
    QVERIFY(QDir().mkpath(folder));
    const QString path = writeNotebook(folder_, "keys.ipynb", {"old"});
    const auto keep = [&] {
      QVERIFY(QDir().mkpath(folder));
      write(folder + "/lock", {});
      write(folder + "/one.recovery",
            QString("{\"path\": \"%1\", \"time\": \"2024-01-01T10:00:00.000Z\"}\n").arg(path).toUtf8() +
                contents(path).replace("old", "kept"));
    };
    const auto focused = [] { return qobject_cast<QPushButton*>(QApplication::focusWidget()); };
    for (const int key : {Qt::Key_Return, Qt::Key_Enter}) {
      keep();
      show();
      window_->openNotebook(path);
      QTest::keyClick(window_, Qt::Key_F8);
      QTRY_VERIFY(focused() && focused()->text() == "Restore it");
      QTest::keyClick(focused(), static_cast<Qt::Key>(key));
      QTRY_COMPARE(window_->document()->cell(0).source, QString("kept"));
      // The message that is left is closed by its own button.
      QTest::keyClick(window_, Qt::Key_F8);
      auto* close = qobject_cast<QToolButton*>(QApplication::focusWidget());
      QVERIFY(close);
      QTest::keyClick(close, static_cast<Qt::Key>(key));
      QTRY_VERIFY2(messages().isEmpty(), qPrintable(messages()));
      delete window_;
    }
    // The second button asks; so does it in the list, where Return restores what is chosen.
    keep();
    show();
    window_->openNotebook(path);
    QTest::keyClick(window_, Qt::Key_F8);
    QTRY_VERIFY(focused());
    QTest::keyClick(focused(), Qt::Key_Tab);
    QCOMPARE(focused()->text(), QString("Discard"));
    QString question;
    answerQuestion(QMessageBox::No, &question);
    QTest::keyClick(focused(), Qt::Key_Return);
    QVERIFY2(question.contains("keys.ipynb"), qPrintable(question));
    QVERIFY(showActive(window_));
    QTest::keyClick(window_, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
    QDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = window_->findChild<QDialog*>("recoveredWork")) && dialog->isVisible());
    QVERIFY(showActive(dialog));
    auto* list = dialog->findChild<QListWidget*>();
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Return);
    QTRY_COMPARE(window_->document()->cell(0).source, QString("kept"));
  }

  void workOnManyNotebooksLeavesRoomForTheOneThatIsOpened() {
    const QString folder =
        QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery/earlier";
    QVERIFY(QDir().mkpath(folder));
    const auto write = [](const QString& name, const QByteArray& bytes) {
      QFile file(name);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(bytes);
    };
    write(folder + "/lock", {});
    const QString path = writeNotebook(folder_, "kept0.ipynb", {"old"});
    for (int i = 0; i < 5; ++i)
      write(QString("%1/%2.recovery").arg(folder).arg(i),
            QString("{\"path\": \"%1\", \"time\": \"2024-01-0%2T10:00:00.000Z\"}\n")
                    .arg(folder_.filePath(QString("kept%1.ipynb").arg(i)))
                    .arg(i + 1)
                    .toUtf8() +
                contents(path).replace("old", "kept"));
    show();
    QCOMPARE(messages().count("Tapedeck ended unexpectedly"), 3);
    QVERIFY2(messages().contains("on 2 other notebooks"), qPrintable(messages()));
    screenshot(window_, "recovery-many-start");
    window_->openNotebook(path);
    QCOMPARE(messages().count('\n'), 1);
    QVERIFY2(messages().contains("Unsaved work on this notebook"), qPrintable(messages()));
    QVERIFY2(messages().contains("on 4 other notebooks"), qPrintable(messages()));
    screenshot(window_, "recovery-many-notebook");
    press(window_, "Restore it");
    QCOMPARE(window_->document()->cell(0).source, QString("kept"));
    QVERIFY2(messages().contains("was changed since then"), qPrintable(messages()));
    QVERIFY2(messages().contains("on 4 other notebooks"), qPrintable(messages()));
    QTest::mouseClick(window_->messages()->findChild<QToolButton*>("olderMessage"), Qt::LeftButton);
    press(window_, "Show all…");
    QDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = window_->findChild<QDialog*>("recoveredWork")) && dialog->isVisible());
    QCOMPARE(dialog->findChild<QListWidget*>()->count(), 4);
    QString question;
    answerQuestion(QMessageBox::Yes, &question);
    press(dialog, "Discard");
    QTRY_VERIFY2(question.contains("kept4.ipynb"), qPrintable(question));
    QCOMPARE(recoveryFiles().size(), 4);
  }

  void aRecoveryFileThatCannotBeWrittenIsTold() {
    show();
    const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
    // Nothing of this process is there yet, or it is in the way: a file is where the folder should be.
    QDir(root).removeRecursively();
    QVERIFY(QDir().mkpath(QFileInfo(root).path()));
    QFile obstacle(root);
    QVERIFY(obstacle.open(QIODevice::WriteOnly));
    window_->openNotebook(writeNotebook(folder_, "unkept.ipynb", {"old"}));
    window_->document()->setSource(0, "changed");
    QTRY_VERIFY_WITH_TIMEOUT(messages().contains("No recovery files can be written"), patience);
    obstacle.remove();
    window_->document()->setSource(0, "changed again");
    QTRY_VERIFY_WITH_TIMEOUT(isKept("changed again"), patience);
    QTRY_VERIFY(messages().isEmpty());
  }
};

/// Another run of this program.
int runAsProgram(int argc, char** argv) {
  QApplication application(argc, argv);
  QCoreApplication::setOrganizationName("tapedeck-test");
  QCoreApplication::setApplicationName("Tapedeck");
  const QByteArray what = argv[1], text = argc > 3 ? argv[3] : "";
  const QString notebook = QString::fromLocal8Bit(argv[2]);
  auto* window = new MainWindow;
  if (!showActive(window)) return 1;
  if (notebook == "new")
    window->newNotebook();
  else
    window->openNotebook(notebook);
  if (what == "--type") {
    if (!window->notebook()->findChild<QWidget*>()) return 1;
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QTest::keyClicks(QApplication::focusWidget(), text);
    std::puts("typed");
  } else {
    QPushButton* restore = button(window, "Restore it");
    if (!restore) return 1;
    QTest::mouseClick(restore, Qt::LeftButton);
    std::puts("restored");
  }
  std::fflush(stdout);
  return application.exec();
}

TAPEDECK_TEST_PROCESS("--type", runAsProgram)
TAPEDECK_TEST_PROCESS("--restore", runAsProgram)
TAPEDECK_TEST(TestRecovery)
#include "tst_recovery.moc"
