// What the app does when session processes can't start, and what of their environment they start with.
#include <QScopeGuard>
#include <QTemporaryDir>

#include "app/kernel/process/safe_environment.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

QString writeScript(const QTemporaryDir& folder, const char* name, const QByteArray& text) {
  QFile file(folder.filePath(name));
  if (!file.open(QIODevice::WriteOnly)) return {};
  file.write(text);
  file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  return file.fileName();
}

}  // namespace

class TestSessionStart : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void anEarlyEndTellsItsLastWords();
  void anInterpreterWithoutIpykernelIsNamedWithThePackage();
  void anEngineThatCannotBeLoadedIsNamedAndCellsRunAllTheSame();
  void filesBesideTheNotebookReplaceNoModules_data();
  void filesBesideTheNotebookReplaceNoModules();
  void noVariableLeadsIntoTheCurrentFolder_data();
  void noVariableLeadsIntoTheCurrentFolder();
  void anInterpreterThatIsNoneIsNamed_data();
  void anInterpreterThatIsNoneIsNamed();
  void aProgramThatIsNotThereIsNamed();
  void aFolderThatIsNotThereIsNamed();

 private:
  QTemporaryDir runtime_;
};

void TestSessionStart::initTestCase() {
  qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime_.path()));
}

void TestSessionStart::anEarlyEndTellsItsLastWords() {
  KernelLaunch launch;
  launch.arguments = QStringList{"/bin/sh", "-c", "echo oh dear >&2; exit 3"};
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QCOMPARE(probe.sentence, QString("The session process ended before it was ready (exit code 3): oh dear"));
}

void TestSessionStart::anInterpreterWithoutIpykernelIsNamedWithThePackage() {
  QTemporaryDir folder;
  KernelLaunch launch;
  launch.interpreter = writeScript(folder, "python3", "#!/bin/sh\nexec " TAPEDECK_PYTHON " -S -I \"$@\"\n");
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  probe.session.execute("a", "1");
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.contains(launch.interpreter + ": has no ipykernel"), qPrintable(probe.sentence));
  QVERIFY(probe.sentence.contains("sudo apt-get install python3-ipykernel"));
  QTRY_COMPARE(probe.finished.value("a"), QString("aborted"));
}

void TestSessionStart::anEngineThatCannotBeLoadedIsNamedAndCellsRunAllTheSame() {
  if (!QFile::exists(TAPEDECK_BUILD_DIR "/python/tapedeck/session.py"))
    QSKIP("the Python module is not built: needs the target tapedeck_python");
  QTemporaryDir folder;
  QDir(folder.path()).mkdir("tapedeck");
  writeScript(folder, "tapedeck/__init__.py", "raise ImportError('it is for another Python')\n");
  KernelLaunch launch;
  launch.environment["PYTHONPATH"] = folder.path();
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  probe.session.execute("a", "print('runs')");
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QVERIFY2(probe.sentence.startsWith("Tapedeck's engine can't be loaded by /"), qPrintable(probe.sentence));
  QVERIFY(
      probe.sentence.endsWith(", so this session runs without it: ImportError: it is for another Python"));
  QCOMPARE(probe.printed("a"), QString("runs\n"));
  QCOMPARE(probe.session.engine(), Engine::missing);
  QCOMPARE(probe.notices, QList{KernelNotice::withoutEngine});
}

void TestSessionStart::filesBesideTheNotebookReplaceNoModules_data() {
  QTest::addColumn<bool>("engine");
  QTest::newRow("with the engine") << true;
  QTest::newRow("without it") << false;
}

// The search for an interpreter, the session with the engine and the one without it.
void TestSessionStart::filesBesideTheNotebookReplaceNoModules() {
  QFETCH(bool, engine);
  if (!QFile::exists(TAPEDECK_BUILD_DIR "/python/tapedeck/session.py"))
    QSKIP("the Python module is not built: needs the target tapedeck_python");
  QTemporaryDir folder, broken;
  const QString note = broken.filePath("ran.txt");
  for (const char* name : {"tapedeck", "numpy", "random", "json", "ipykernel", "ipykernel_launcher", "types",
                           "warnings", "contextlib", "functools", "ast", "runpy", "sitecustomize", "zmq"})
    writeScript(folder, (std::string(name) + ".py").c_str(),
                QString("open('%1', 'a').write(__name__ + ' ')\n").arg(note).toUtf8());
  writeScript(folder, "mine.py", "value = 42\n");
  KernelLaunch launch;
  QDir(broken.path()).mkdir("tapedeck");
  writeScript(broken, "tapedeck/__init__.py", "raise ImportError('it is for another Python')\n");
  if (!engine) launch.environment["PYTHONPATH"] = broken.path();
  // A library that every program needs, and the program that is looked for: each would end the session.
  writeScript(folder, "libc.so.6", "no library");
  writeScript(folder, "preloaded.so", "no library");
  writeScript(folder, "python3", "#!/bin/false\n");
  const QProcessEnvironment whole = QProcessEnvironment::systemEnvironment();
  const char* const searched[] = {"PYTHONPATH", "LD_LIBRARY_PATH", "PATH", "LD_PRELOAD"};
  const auto restore = qScopeGuard([&, here = QDir::currentPath()] {
    QDir::setCurrent(here);
    for (const char* name : searched) {
      if (whole.contains(name))
        qputenv(name, whole.value(name).toLocal8Bit());
      else
        qunsetenv(name);
    }
  });
  QDir::setCurrent(folder.path());  // as where the app was started there
  for (const char* name : {"PYTHONPATH", "LD_LIBRARY_PATH", "PATH"}) qputenv(name, ":.:" + qgetenv(name));
  qputenv("LD_PRELOAD", "./preloaded.so " + qgetenv("LD_PRELOAD"));
  Probe probe(launch);
  probe.session.start(folder.path());
  probe.session.execute("a",
                        "import mine, json, random, numpy, ast, os\n"
                        "print(mine.value, json.dumps([1]), numpy.arange(2), hasattr(random, 'shuffle'))\n"
                        "print([name for name in ('PATH', 'LD_LIBRARY_PATH') for part in\n"
                        "       os.environ.get(name, '/').split(':') if not part.startswith('/')])");
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QCOMPARE(probe.printed("a", "stdout"), QString("42 [1] [0 1] True\n[]\n"));
  QCOMPARE(probe.printed("a", "stderr").contains("random.py beside the notebook was not imported"), engine);
  QCOMPARE(probe.session.engine() == Engine::missing, !engine);
  QFile ran(note);
  QVERIFY2(!ran.open(QIODevice::ReadOnly), ran.readAll().constData());
}

void TestSessionStart::noVariableLeadsIntoTheCurrentFolder_data() {
  QTest::addColumn<QString>("variable");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("left");
  QTest::newRow("programs") << "PATH"
                            << ":/usr/bin::.:bin:../bin:/bin:"
                            << "/usr/bin:/bin";
  QTest::newRow("empty") << "PATH"
                         << ""
                         << "";
  QTest::newRow("libraries") << "LD_LIBRARY_PATH"
                             << ":/usr/lib;lib;/opt/lib:."
                             << "/usr/lib:/opt/lib";
  QTest::newRow("none left") << "LD_LIBRARY_PATH"
                             << ".:"
                             << "";
  QTest::newRow("preloaded") << "LD_PRELOAD"
                             << "./mine.so /usr/lib/one.so:lib/two.so libjemalloc.so.2"
                             << "/usr/lib/one.so:libjemalloc.so.2";
  QTest::newRow("audit") << "LD_AUDIT"
                         << "./mine.so:/usr/lib/one.so"
                         << "/usr/lib/one.so";
  QTest::newRow("modules") << "PYTHONPATH"
                           << ":.:/opt/modules:modules"
                           << "/opt/modules";
  QTest::newRow("Python") << "PYTHONHOME"
                          << "."
                          << "";
  QTest::newRow("start") << "PYTHONSTARTUP"
                         << "start.py"
                         << "";
  QTest::newRow("a file with a colon") << "PYTHONSTARTUP"
                                       << "/opt/a:b.py"
                                       << "/opt/a:b.py";
  QTest::newRow("another variable") << "SEARCH"
                                    << ".:a"
                                    << ".:a";
}

void TestSessionStart::noVariableLeadsIntoTheCurrentFolder() {
  QFETCH(QString, variable);
  QFETCH(QString, value);
  QFETCH(QString, left);
  QProcessEnvironment environment;
  environment.insert(variable, value);
  leaveOutCurrentFolder(environment);
  QCOMPARE(environment.value(variable), left);
  QCOMPARE(environment.contains(variable), !left.isEmpty());
}

void TestSessionStart::anInterpreterThatIsNoneIsNamed_data() {
  QTest::addColumn<QString>("interpreter");
  QTest::addColumn<QString>("what");
  QTest::newRow("missing") << "/nowhere/python3"
                           << "/nowhere/python3: no such file";
  QTest::newRow("not executable") << "/etc/passwd"
                                  << "/etc/passwd: not executable";
  QTest::newRow("another program") << "/bin/true"
                                   << "/bin/true: does not run as Python";
  QTest::newRow("not in PATH") << "no-such-python3"
                               << "no-such-python3: no such program";
  QTest::newRow("fails") << "/bin/false"
                         << "/bin/false: does not run as Python";
}

void TestSessionStart::anInterpreterThatIsNoneIsNamed() {
  QFETCH(QString, interpreter);
  QFETCH(QString, what);
  KernelLaunch launch;
  launch.interpreter = interpreter;
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.contains(what), qPrintable(probe.sentence));
}

void TestSessionStart::aProgramThatIsNotThereIsNamed() {
  KernelLaunch launch;
  launch.arguments = QStringList{"/nowhere/kernel", "{connection_file}"};
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.startsWith("The session process /nowhere/kernel can't be started: "),
           qPrintable(probe.sentence));
}

void TestSessionStart::aFolderThatIsNotThereIsNamed() {
  Probe probe;
  probe.session.start("/nowhere/at/all");
  QCOMPARE(probe.session.state(), KernelState::dead);
  QCOMPARE(probe.sentence,
           QString("The folder /nowhere/at/all does not exist, so no session can run in it."));
}

TAPEDECK_TEST(TestSessionStart)
#include "tst_session_start.moc"
