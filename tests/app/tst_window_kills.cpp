// The window's process is killed while the user types, runs a cell that prints, and saves: what the next one
// restores is what was typed and printed, up to a moment before the kill.
#include <QJsonDocument>
#include <QProcess>
#include <QPushButton>
#include <QStandardPaths>
#include <QTimer>
#include <chrono>
#include <csignal>

#include "app/control/recovery.h"
#include "app/control/recovery_journal.h"
#include "app/notebook/document/nbformat.h"
#include "app/shell/opening/file_control.h"
#include "tests/app/window_fixture.h"
#include "tests/campaign.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;
using tapedeck::Campaign;

namespace {

constexpr int between_keys = 30;  // milliseconds: a fast typist

/// The same clock in all processes.
qint64 now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The text that is typed: key number `i`, the same for every caller.
QChar keyAt(qsizetype i) {
  static const QString words = "loss rate layer step ";
  return words[i % words.size()];
}

QString typedText(qsizetype keys) {
  QString text;
  for (qsizetype i = 0; i < keys; ++i) text += keyAt(i);
  return text;
}

/// How many keys of it the source begins with.
qsizetype keysIn(const QString& source) {
  qsizetype keys = 0;
  while (keys < source.size() && source[keys] == keyAt(keys)) ++keys;
  return keys;
}

/// Of a cell whose lines end with the time: that of its last whole line; 0: there is none.
qint64 lastPrinted(const Document& document) {
  if (document.cellCount() < 2 || document.cell(1).outputs.empty()) return 0;
  const QString text = QString::fromStdString(storedOutputs(document.cell(1), 0)[0].value("text", ""));
  return text.left(text.lastIndexOf('\n')).section('\n', -1).section(' ', -1).toLongLong();
}

/// The texts that can be restored, or were.
struct Kept {
  QString source;
  qint64 printed = 0;
};

/// A program of its own with a window of its own: types for ever, and says each key.
int typeForEver(int argc, char** argv) {
  QApplication application(argc, argv);
  QCoreApplication::setOrganizationName("tapedeck-test");
  QCoreApplication::setApplicationName("Tapedeck");
  const QByteArray doing = argv[2];
  const QString notebook = QString::fromLocal8Bit(argv[3]);
  auto* window = new MainWindow;
  if (!showActive(window)) return 1;
  window->openNotebook(notebook);
  if (!window->notebook()->findChild<QWidget*>()) return 1;
  if (doing == "running") {
    window->notebook()->setCurrentCell(1, false);
    window->notebook()->runCurrent();
    if (!waitFor([&] { return outputText(*window, 1).contains("line 3"); })) return 1;
    window->notebook()->setCurrentCell(0, false);
  }
  if (doing == "saving") window->files()->autosave()->setInterval(250);
  window->notebook()->setFocus();
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  qsizetype keys = 0;
  QTimer typist;
  QObject::connect(&typist, &QTimer::timeout, &typist, [&] {
    QTest::keyClick(QApplication::focusWidget(), keyAt(keys).toLatin1());
    ++keys;
    std::printf("%lld %lld\n", static_cast<long long>(keys), static_cast<long long>(now()));
    std::fflush(stdout);
    if (doing == "saving" && keys % 40 == 0)
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_S, Qt::ControlModifier);
  });
  typist.start(between_keys);
  return application.exec();
}

}  // namespace

class TestWindowKills : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  /// When each key was typed, by its number from 1.
  static QList<qint64> timesIn(const QByteArray& said) {
    QList<qint64> times;
    for (const QByteArray& line : said.left(said.lastIndexOf('\n') + 1).split('\n'))
      if (const QList<QByteArray> words = line.split(' '); words.size() == 2) times << words[1].toLongLong();
    return times;
  }

  static QStringList recoveryFiles() {
    const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
    QStringList files;
    for (const QString& name : QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
      for (const QString& file : QDir(root + "/" + name).entryList({"*.recovery"}, QDir::Files))
        files << root + "/" + name + "/" + file;
    return files;
  }

  /// The texts that can be restored now, even if the process is killed.
  static Kept kept(const QString& notebook) {
    Kept most;
    const auto look = [&](const QByteArray& bytes) {
      Document document;
      document.recover(bytes, {});
      if (document.cellCount() > 0 && keysIn(document.cell(0).source) > keysIn(most.source))
        most.source = document.cell(0).source;
      most.printed = std::max(most.printed, lastPrinted(document));
    };
    look(contents(notebook));
    for (const QString& file : recoveryFiles()) {
      RecoveryEntry entry;
      entry.file = file;
      try {
        look(readRecovery(entry));
      } catch (const NotebookError&) {
        // It was removed meanwhile: the notebook was saved.
      }
    }
    return most;
  }

  /// Opens the notebook as its user does, and takes what is offered.
  static Kept restored(const QString& path) {
    const auto window = newWindow();
    window->openNotebook(path);
    for (QPushButton* button : window->messages()->findChildren<QPushButton*>())
      if (button->text() == "Restore it" && button->isVisible()) {
        QTest::keyClick(window.get(), Qt::Key_F8);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
        if (!waitFor([&] { return window->messages()->text().contains("Restored"); }))
          return {"not restored", 0};
        break;
      }
    return {window->document()->cell(0).source, lastPrinted(*window->document())};
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    QApplication::setQuitOnLastWindowClosed(false);
  }

  void whatWasTypedIsThereAfterAKill() {
    const Campaign kills{"window_kills", "kills of the window's process", 3, 50, "further random moments"};
    auto random = kills.random();
    const char* const doings[] = {"typing", "running", "saving"};
    for (std::uint64_t round = 0; round < kills.count(); ++round) {
      const char* const doing = doings[round % 3];
      const QString path = writeNotebook(
          folder_, QString("kill%1.ipynb").arg(round),
          {"",
           "import time\nfor i in range(10**6):\n    print('line', i, int(time.monotonic() * 1000))\n"
           "    time.sleep(0.002)"});
      QProcess program;
      program.setProcessChannelMode(QProcess::ForwardedErrorChannel);
      program.start(QCoreApplication::applicationFilePath(), {"--type-for-ever", doing, path});
      QByteArray said;
      const auto typed = [&] {
        program.waitForReadyRead(20);
        said += program.readAllStandardOutput();
        return timesIn(said).size();
      };
      QTRY_VERIFY_WITH_TIMEOUT(typed() > 0 && keysIn(kept(path).source) > 0, patience);
      const qint64 moment = now() + random() % (kills.is_whole() ? 6'000 : 2'500);
      while (now() < moment) typed();
      const Kept before = kept(path);
      ::kill(static_cast<pid_t>(program.processId()), SIGKILL);
      const qint64 end = now();
      QVERIFY(program.waitForFinished(patience));
      said += program.readAllStandardOutput();
      const QList<qint64> times = timesIn(said);
      // The file is whole, as it was or as it was saved.
      QVERIFY(QJsonDocument::fromJson(contents(path)).isObject());

      const Kept after = restored(path);
      const QString& source = after.source;
      const qsizetype keys = keysIn(source);
      const qint64 lost = keys >= times.size() ? 0 : end - times[keys];
      std::printf(
          "{\"kill\": %d, \"doing\": \"%s\", \"typed_keys\": %d, \"lost_keys\": %d, \"lost_ms\": %d}\n",
          static_cast<int>(round), doing, static_cast<int>(times.size()),
          static_cast<int>(std::max<qsizetype>(0, times.size() - keys)), static_cast<int>(lost));
      std::fflush(stdout);
      QCOMPARE(source, typedText(keys));  // nothing but what was typed
      QVERIFY2(keys >= keysIn(before.source),
               qPrintable(QString("%1 of %2").arg(keys).arg(keysIn(before.source))));
      if (QByteArray(doing) == "running") {
        std::printf("{\"kill\": %d, \"lost_output_ms\": %d}\n", static_cast<int>(round),
                    static_cast<int>(end - after.printed));
        std::fflush(stdout);
        QVERIFY2(after.printed > 0 && after.printed >= before.printed,
                 qPrintable(QString("%1 of %2").arg(after.printed).arg(before.printed)));
      }
      for (const QString& file : recoveryFiles()) {
        QFile::remove(journalOf(file));
        QFile::remove(file);
      }
    }
  }
};

TAPEDECK_TEST_PROCESS("--type-for-ever", typeForEver)
// All kills of a long run take longer than QtTest allows a function.
TAPEDECK_TEST(
    TestWindowKills, .before = [] { qputenv("QTEST_FUNCTION_TIMEOUT", "1800000"); })
#include "tst_window_kills.moc"
