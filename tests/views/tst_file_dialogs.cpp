// Where file dialogs begin, and that files are replaced whole or not at all.
#include <sys/resource.h>

#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QLineEdit>
#include <QMainWindow>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <csignal>

#include "inspector/ui/file_dialogs.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck::inspector;
using namespace tapedeck::test;

class TestFileDialogs : public QObject {
  Q_OBJECT

  QTemporaryDir settings_;

 private slots:
  void initTestCase() {
    qputenv("XDG_CONFIG_HOME", settings_.path().toUtf8());
    QCoreApplication::setOrganizationName("tapedeck-test");
  }
  void init() { QSettings().clear(); }

  void dialogsBeginInTheNotebooksFolderElseTheLastOneElseHome() {
    QTemporaryDir notebooks, last;
    QMainWindow window;
    auto* dock = new QDockWidget("panel", &window);
    auto* panel = new QWidget;
    dock->setWidget(panel);
    dock->setFloating(true);
    QCOMPARE(suggestedPath(panel, "tape.svg"), QDir::homePath() + "/tape.svg");
    rememberFolder(last.filePath("other.svg"));
    QCOMPARE(suggestedPath(panel, "tape.svg"), last.filePath("tape.svg"));
    window.setWindowFilePath(notebooks.filePath("a.ipynb"));
    QCOMPARE(suggestedPath(panel, "tape.svg"), notebooks.filePath("tape.svg"));
    QCOMPARE(suggestedPath(nullptr, "tape.svg"), last.filePath("tape.svg"));
    last.remove();
    QCOMPARE(suggestedPath(nullptr, "tape.svg"), QDir::homePath() + "/tape.svg");
  }

  void aNameWithoutSuffixIsCompletedBeforeTheQuestionAboutReplacing() {
    QTemporaryDir folder;
    write(folder.filePath("plots.svg"), "old");
    QMainWindow window;
    window.setWindowFilePath(folder.filePath("a.ipynb"));
    QString question;
    QTimer clicker;
    connect(&clicker, &QTimer::timeout, &clicker, [&] {
      if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
        question = box->text();
        box->button(QMessageBox::Yes)->click();
      } else if (auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) {
        auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
        name->setText("plots");
        QTest::keyClick(name, Qt::Key_Return);
      }
    });
    clicker.start(50);
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QCOMPARE(askForPath(&window, "Export", "tape.svg", "SVG (*.svg);;PNG (*.png)"),
             folder.filePath("plots.svg"));
    QVERIFY2(question.contains("plots.svg"), qPrintable(question));
    QCOMPARE(suggestedPath(nullptr, "x"), folder.filePath("x"));
  }

  void aFileIsReplacedWholeOrNotAtAll() {
    QTemporaryDir folder;
    const QString path = folder.filePath("tape.svg"), link = folder.filePath("link.svg");
    write(path, "old");
    QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner);
    QVERIFY(QFile::link(path, link));
    QString error;
    struct rlimit old;
    ::getrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit tiny = {4096, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tiny);
    const bool written = replaceFile(path, QByteArray(100'000, 'x'), &error);
    ::setrlimit(RLIMIT_FSIZE, &old);
    QVERIFY(!written);
    QVERIFY2(error.contains(path), qPrintable(error));
    QCOMPARE(contents(path), QByteArray("old"));
    QVERIFY(replaceFile(link, "new", &error));
    QCOMPARE(contents(path), QByteArray("new"));
    QVERIFY(QFileInfo(link).isSymLink());
    QCOMPARE(QFile::permissions(path) & (QFile::ReadOther | QFile::WriteOwner), QFile::WriteOwner);
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden).size(), 2);
  }
};

TAPEDECK_TEST(TestFileDialogs)
#include "tst_file_dialogs.moc"
