// The Python environment of a session: chosen on the start page and in the menus, kept with the notebook, and
// refused where a file names one that the user did not choose. Most run with environments made here, whose
// interpreter is a script; those with torch need TAPEDECK_TORCH, an interpreter that has torch, ipykernel and
// Tapedeck's module.
#include <QClipboard>
#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <QPointer>
#include <QPushButton>
#include <QStatusBar>
#include <nlohmann/json.hpp>

#include "app/control/chosen_environments.h"
#include "app/kernel/process/module_install.h"
#include "tests/app/sample_window.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestEnvironment : public QObject, private SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  /// An environment whose interpreter answers so to the question what it has, and is this build's Python
  /// otherwise.
  QString makeEnvironment(const QString& name, const nlohmann::json& packages,
                          const QString& python = "3.11.2", const QString& before = {}) {
    QDir(folder_.path()).mkpath(name + "/bin");
    const QString interpreter = folder_.filePath(name + "/bin/python3");
    const nlohmann::json answer = {
        {"interpreter", interpreter.toStdString()}, {"python", python.toStdString()}, {"packages", packages}};
    tapedeck::test::write(interpreter, "#!/bin/sh\n" + before.toUtf8() +
                                           "\ncase \"$1\" in *environment.py) echo '" +
                                           QByteArray::fromStdString(answer.dump()) +
                                           "'; exit;; esac\nexec " TAPEDECK_PYTHON " \"$@\"\n");
    QFile::setPermissions(interpreter, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return folder_.filePath(name);
  }
  static nlohmann::json bare() { return {{"pip", "23.0"}, {"numpy", "1.24.2"}, {"ipykernel", "6.17.0"}}; }

  QDialog* dialog() const { return window_->findChild<QDialog*>("environmentDialog"); }
  template <class Widget>
  Widget* part(const QString& name) const {
    return dialog() ? dialog()->findChild<Widget*>(name) : nullptr;
  }
  QString verdict() const { return part<QLabel>("environmentVerdict")->text(); }
  QString need(const QString& name) const {
    const auto* label = part<QLabel>("need:" + name);
    return label ? label->text() : QString();
  }
  void clickOn(QWidget* widget) { QTest::mouseClick(widget, Qt::LeftButton); }
  /// From the start page, by the mouse; then types the path.
  bool openDialogAndType(const QString& path) {
    clickOn(window_->findChild<QPushButton*>("environment"));
    if (!waitFor([&] { return dialog() && dialog()->isVisible(); }, patience)) return false;
    QTest::keyClicks(part<QLineEdit>("environmentPath"), path);
    return true;
  }
  /// Opens it as the window's own notebook. There is no window manager that gives the focus back from the
  /// dialog.
  bool openHere(const QString& path) {
    window_->openNotebook(path);
    return waitFor([&] { return document().path() == path; }, patience) && showActive(window_.get());
  }
  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }

  /// A notebook that names a Jupyter kernel, which runs the interpreter of `given`.
  QString writeNotebookOfKernel(const QString& name, const QString& given) {
    QDir(folder_.path()).mkpath("jupyter/kernels/torch-env");
    const nlohmann::json spec = {
        {"argv",
         {(given + "/bin/python3").toStdString(), "-m", "ipykernel_launcher", "-f", "{connection_file}"}},
        {"display_name", "Torch"},
        {"language", "python"}};
    tapedeck::test::write(folder_.filePath("jupyter/kernels/torch-env/kernel.json"),
                          QByteArray::fromStdString(spec.dump()));
    qputenv("JUPYTER_PATH", folder_.filePath("jupyter").toUtf8());
    const QString path = writeNotebook(folder_, name, {"print(1)"});
    auto notebook = nlohmann::json::parse(tapedeck::test::contents(path).toStdString());
    notebook["metadata"]["kernelspec"] = {
        {"name", "torch-env"}, {"display_name", "Torch"}, {"language", "python"}};
    tapedeck::test::write(path, QByteArray::fromStdString(notebook.dump(1)));
    return path;
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void whatIsMissingIsNamedWithTheCommandThatInstallsIt() {
    const QString given = makeEnvironment("bare", bare());
    window_ = newWindow();
    QVERIFY(openDialogAndType(given));
    QTRY_COMPARE_WITH_TIMEOUT(need("python"), "✓ Python 3.11.2", patience);
    QCOMPARE(need("ipykernel"), "✓ ipykernel 6.17.0");
    QVERIFY2(need("torch").startsWith("✗ torch is missing"), qPrintable(need("torch")));
    QVERIFY2(need("tapedeck").startsWith("✗ Tapedeck's module is missing"), qPrintable(need("tapedeck")));
    QVERIFY2(verdict().contains("can be used as it is"), qPrintable(verdict()));
    QVERIFY(part<QPushButton>("useEnvironment")->isEnabled());
    QCOMPARE(part<QLineEdit>("command:torch")->text(), given + "/bin/python3 -m pip install torch");
    clickOn(part<QPushButton>("copy:torch"));
    QCOMPARE(QApplication::clipboard()->text(), given + "/bin/python3 -m pip install torch");
    QVERIFY(part<QLineEdit>("command:tapedeck")->text().endsWith("/run.sh --install-into " + given));
    QVERIFY(part<QPushButton>("installModule")->isEnabled());
    shots(dialog(), "environment-dialog");
    QTest::keyClick(dialog(), Qt::Key_Escape);
    QTRY_VERIFY(!dialog());
    QVERIFY(recentEnvironments().isEmpty());
    QCOMPARE(window_->kernel()->pythonEnvironment(), QString());
  }

  void whatIsTooOldOrNoPythonIsRefusedByName_data() {
    QTest::addColumn<QString>("given");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("old Python") << makeEnvironment("old", bare(), "3.8.18")
                                << "Python is 3.8.18; needs 3.10 or newer";
    nlohmann::json packages = bare();
    packages["torch"] = "2.0.1+cpu";
    QTest::newRow("old torch") << makeEnvironment("old-torch", packages)
                               << "torch is 2.0.1+cpu; needs 2.1 or newer";
    packages.erase("ipykernel");
    QTest::newRow("no ipykernel") << makeEnvironment("plain", packages) << "ipykernel is missing";
    QTest::newRow("no folder") << folder_.filePath("nowhere")
                               << "There is no environment " + folder_.filePath("nowhere");
    QDir(folder_.path()).mkpath("empty");
    QTest::newRow("no interpreter") << folder_.filePath("empty") << "has neither bin/python3 nor bin/python";
    QTest::newRow("fails") << makeEnvironment("fails", bare(), "3.11.2", "exit 3")
                           << folder_.filePath("fails/bin/python3") + " does not run as Python";
  }
  void whatIsTooOldOrNoPythonIsRefusedByName() {
    QFETCH(QString, given);
    QFETCH(QString, sentence);
    window_ = newWindow();
    QVERIFY(openDialogAndType(given));
    const auto all = [&] {
      QString text = verdict();
      for (const QLabel* label : dialog()->findChildren<QLabel*>()) text += "\n" + label->text();
      return text;
    };
    QTRY_VERIFY2_WITH_TIMEOUT(all().contains(sentence), qPrintable(all()), patience);
    // Old torch can be used: programs of Tapedeck run.
    QCOMPARE(part<QPushButton>("useEnvironment")->isEnabled(), sentence.startsWith("torch"));
  }

  void anInterpreterThatHangsDoesNotHoldUpTheWindow() {
    const QString given = makeEnvironment("hangs", bare(), "3.11.2", "exec sleep 1000");
    window_ = newWindow();
    QVERIFY(openDialogAndType(given));
    QTRY_COMPARE_WITH_TIMEOUT(verdict(), "Asking " + given + " …", patience);
    // Another one is asked in its place.
    const QString other = makeEnvironment("other", bare());
    part<QLineEdit>("environmentPath")->clear();
    QTest::keyClicks(part<QLineEdit>("environmentPath"), other);
    QTRY_COMPARE_WITH_TIMEOUT(need("python"), "✓ Python 3.11.2", patience);
    QTest::keyClick(dialog(), Qt::Key_Escape);
    QTRY_VERIFY(!dialog());
  }

  void cellsRunWhereTheStartPageSaysAndTheNotebookKeepsIt() {
    const QString given = makeEnvironment("bare", bare());
    const QString path =
        writeNotebook(folder_, "kept.ipynb", {"import os\nprint(os.environ['PATH'].split(':')[0])"});
    window_ = newWindow();
    QVERIFY(openDialogAndType(given));
    QTRY_VERIFY_WITH_TIMEOUT(part<QPushButton>("useEnvironment")->isEnabled(), patience);
    QTest::keyClick(dialog(), Qt::Key_Return);
    QTRY_VERIFY(!dialog());
    QCOMPARE(window_->findChild<QPushButton*>("environment")->text(), "Python: bare…");
    QCOMPARE(recentEnvironments(), QStringList{given});
    shots(window_.get(), "environment-start-page");
    QVERIFY(openHere(path));
    QTRY_VERIFY(state().startsWith("no session in bare: it starts with the first run"));
    click(0);
    runByKey(0);
    QCOMPARE(outputText(*window_, 0), given + "/bin\n");
    QVERIFY2(state().startsWith("session in bare: ready, without the engine · Python 3.11.2"),
             qPrintable(state()));
    const QString message = window_->messages()->text();
    QVERIFY2(message.contains("Tapedeck's module is not installed in " + given), qPrintable(message));
    shots(window_.get(), "environment-session");
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->isWindowModified(), patience);
    const auto saved = nlohmann::json::parse(tapedeck::test::contents(path).toStdString());
    QCOMPARE(QString::fromStdString(saved["metadata"]["tapedeck"]["environment"].get<std::string>()), given);

    // Opened again, it runs there without a question.
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_COMPARE_WITH_TIMEOUT(window_->kernel()->pythonEnvironment(), given, patience);
    QVERIFY(!window_->isWindowModified());
  }

  void whatAFileNamesRunsOnlyAfterTheUserChoseIt() {
    const QString mark = folder_.filePath("it-ran");
    const QString given = makeEnvironment("foreign", bare(), "3.11.2", "touch " + mark);
    const QString path = writeNotebook(folder_, "foreign.ipynb", {"print(1)"});
    auto notebook = nlohmann::json::parse(tapedeck::test::contents(path).toStdString());
    notebook["metadata"]["tapedeck"]["environment"] = given.toStdString();
    tapedeck::test::write(path, QByteArray::fromStdString(notebook.dump(1)));
    window_ = newWindow();
    QVERIFY(openHere(path));
    QTRY_VERIFY(window_->messages()->text().contains("which you have not chosen on this machine yet"));
    QCOMPARE(window_->kernel()->pythonEnvironment(), QString());
    click(0);
    runByKey(0);
    QVERIFY(!QFileInfo::exists(mark));
    for (auto* button : window_->messages()->findChildren<QAbstractButton*>())
      if (button->text() == "Use it") clickOn(button);
    QCOMPARE(window_->kernel()->pythonEnvironment(), given);
    QTRY_VERIFY(window_->messages()->text().contains("the next one runs in " + given));
    for (auto* button : window_->messages()->findChildren<QAbstractButton*>())
      if (button->text() == "Start a new session") clickOn(button);
    QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(mark), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(state().startsWith("session in foreign: ready"), qPrintable(state()), patience);
  }
  void anEnvironmentThatIsGoneIsNotOffered() {
    const QString gone = folder_.filePath("gone");
    const QString path = writeNotebook(folder_, "gone.ipynb", {"print(1)"});
    auto notebook = nlohmann::json::parse(tapedeck::test::contents(path).toStdString());
    notebook["metadata"]["tapedeck"]["environment"] = gone.toStdString();
    tapedeck::test::write(path, QByteArray::fromStdString(notebook.dump(1)));
    window_ = newWindow();
    QVERIFY(openHere(path));
    QTRY_VERIFY(window_->messages()->text().contains("There is no environment " + gone + ". Its sessions"));
    QAbstractButton* other = nullptr;
    for (auto* button : window_->messages()->findChildren<QAbstractButton*>()) {
      QVERIFY(button->text() != "Use it");
      if (button->text() == "Choose an environment…") other = button;
    }
    QVERIFY(other);
    clickOn(other);
    QTRY_VERIFY(dialog() && dialog()->isVisible());
    QTest::keyClick(dialog(), Qt::Key_Escape);
    QTRY_VERIFY(!dialog());
    QVERIFY(showActive(window_.get()));
    click(0);
    runByKey(0);
    QTRY_VERIFY2_WITH_TIMEOUT(state().startsWith("session: ready") || state().startsWith("session in"),
                              qPrintable(state()), patience);
    QCOMPARE(window_->kernel()->pythonEnvironment(), QString());
  }

  void aJupyterKernelThatTheNotebookNamesIsOffered() {
    const QString given = makeEnvironment("of-kernel", bare());
    const QString path = writeNotebookOfKernel("named.ipynb", given);
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->text().contains("names the Jupyter kernel \"torch-env\""),
                             patience);
    for (auto* button : window_->messages()->findChildren<QAbstractButton*>())
      if (button->text() == "Use it") clickOn(button);
    QCOMPARE(window_->kernel()->pythonEnvironment(), given + "/bin/python3");
    QTRY_VERIFY(state().startsWith("no session in of-kernel"));
    qunsetenv("JUPYTER_PATH");
  }

  void tapedecksOwnPythonIsRememberedAgainstTheKernelThatANotebookNames() {
    const QString given = makeEnvironment("of-kernel", bare());
    const QString path = writeNotebookOfKernel("own.ipynb", given);
    addRecentEnvironment(given + "/bin/python3");  // chosen before: it is used without a question
    window_ = newWindow();
    QVERIFY(openHere(path));
    QTRY_COMPARE(window_->kernel()->pythonEnvironment(), given + "/bin/python3");
    press(Qt::Key_Y, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(dialog() && dialog()->isVisible());
    part<QLineEdit>("environmentPath")->clear();
    QTRY_VERIFY_WITH_TIMEOUT(part<QPushButton>("useEnvironment")->isEnabled(), patience);
    clickOn(part<QPushButton>("useEnvironment"));
    QTRY_VERIFY(!dialog());
    QCOMPARE(window_->kernel()->pythonEnvironment(), QString());
    QVERIFY(showActive(window_.get()));
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->isWindowModified(), patience);

    window_ = newWindow();
    QVERIFY(openHere(path));
    QCOMPARE(window_->kernel()->pythonEnvironment(), QString());
    QCOMPARE(window_->messages()->text(), QString());
    qunsetenv("JUPYTER_PATH");
  }

  void theEnvironmentOfAStartIsThatOfAllItsNotebooks() {
    const QString given = makeEnvironment("of-start", bare());
    window_ = newWindow();
    window_->runIn(given);
    const QString first = writeNotebook(folder_, "first.ipynb", {"1"});
    const QString second = writeNotebook(folder_, "second.ipynb", {"2"});
    window_->openNotebook(first);
    window_->openNotebook(second);
    QPointer<MainWindow> other;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* main = qobject_cast<MainWindow*>(widget); main && main != window_.get()) other = main;
    QVERIFY(other);
    for (const auto& [window, path] : {std::pair<MainWindow*, QString>(window_.get(), first),
                                       std::pair<MainWindow*, QString>(other, second)}) {
      QTRY_COMPARE_WITH_TIMEOUT(window->document()->path(), path, patience);
      QCOMPARE(window->kernel()->pythonEnvironment(), given);
      QVERIFY(!window->isWindowModified());
    }
    delete other;
  }

  void aProgramThatImportsTorchIsOfferedAnEnvironment() {
    window_ = newWindow();
    window_->openNotebook(
        writeNotebook(folder_, "needs.ipynb", {"x = 1", "if True:\n    from torch import nn"}));
    QTRY_VERIFY2_WITH_TIMEOUT(window_->messages()->text().contains(
                                  "needs.ipynb imports torch, which Tapedeck's own Python doesn't have"),
                              qPrintable(window_->messages()->text()), patience);
    for (auto* button : window_->messages()->findChildren<QAbstractButton*>())
      if (button->text() == "Choose an environment…") clickOn(button);
    QTRY_VERIFY(dialog() && dialog()->isVisible());
    QTest::keyClicks(part<QLineEdit>("environmentPath"), makeEnvironment("chosen", bare()));
    QTRY_VERIFY_WITH_TIMEOUT(part<QPushButton>("useEnvironment")->isEnabled(), patience);
    const QString chosen = part<QLineEdit>("environmentPath")->text();
    clickOn(part<QPushButton>("useEnvironment"));
    QTRY_COMPARE(window_->messages()->text(), QString());
    // The next one, in a window of its own, is offered what was chosen last.
    window_->openNotebook(writeNotebook(folder_, "needs_too.ipynb", {"import torch"}));
    QPointer<MainWindow> other;
    const auto offer = [&]() -> QAbstractButton* {
      for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* main = qobject_cast<MainWindow*>(widget); main && main != window_.get()) other = main;
      if (other)
        for (auto* button : other->messages()->findChildren<QAbstractButton*>())
          if (button->text() == "Run it in chosen") return button;
      return nullptr;
    };
    QTRY_VERIFY2_WITH_TIMEOUT(offer(), qPrintable(other ? other->messages()->text() : QString("no window")),
                              patience);
    QVERIFY(showActive(other));
    clickOn(offer());
    QTRY_COMPARE(other->kernel()->pythonEnvironment(), chosen);
    QCOMPARE(other->messages()->text(), QString());
    delete other;
  }

  void theDistributionsPythonIsNoPlaceToInstallInto() {
    EnvironmentFacts facts;
    facts.given = facts.interpreter = "/usr/bin/python3";
    facts.python = "3.11.2";
    facts.packages = {{"ipykernel", "6.17"}, {"pip", "23.0"}};
    const auto commands = [&] {
      QStringList all;
      for (const EnvironmentNeed& need : needsOf(facts)) all << need.command;
      return all;
    };
    QVERIFY2(commands().contains("/usr/bin/python3 -m pip install torch"), qPrintable(commands().join("\n")));
    QVERIFY(!commands().filter("--install-into").isEmpty());
    facts.managed = true;
    QVERIFY(commands().filter("/usr/bin/python3 -m pip").isEmpty());
    QVERIFY(commands().filter("--install-into").isEmpty());
    QVERIFY(!commands().filter("-m venv").isEmpty());
    QVERIFY(needsOf(facts)[0].sentence.contains("pip installs nothing there"));
  }

  void otherProgramsAreNotAskedForTorch() {
    window_ = newWindow();
    QVERIFY(
        openHere(writeNotebook(folder_, "plain.ipynb", {"import torchless\n# import torch", "torch = 1"})));
    nothingMayHappenFor(300);
    QCOMPARE(window_->messages()->text(), QString());
  }

  void whatAStoppedInstallationMayHaveChangedIsSaid_data() {
    QTest::addColumn<QString>("script");
    QTest::addColumn<bool>("stop");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("while it builds")
        << "echo 'Building (7 %)'; sleep 100" << true
        << "The installation was stopped; nothing was changed in the environment.";
    QTest::newRow("while it writes")
        << "echo 'Building (100 %)'; echo \"Installing the module into $2.\"; echo wait; sleep 100" << true
        << "The installation was stopped while it wrote into /some/env: the module may be there in part. "
           "Install it again, or remove it (pip uninstall tapedeck).";
    QTest::newRow("fails before") << "echo no compiler; exit 3" << false
                                  << "The module was not installed:\nno compiler";
    QTest::newRow("fails there") << "echo \"Installing the module into $2.\"; echo no room; exit 1" << false
                                 << "The installation failed; /some/env may have changed:\n"
                                    "Installing the module into /some/env.\nno room";
  }
  void whatAStoppedInstallationMayHaveChangedIsSaid() {
    QFETCH(QString, script);
    QFETCH(bool, stop);
    QFETCH(QString, sentence);
    const QString path = folder_.filePath("install.sh");
    tapedeck::test::write(path, "#!/bin/sh\n" + script.toUtf8() + "\n");
    QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    ModuleInstall install;
    QString last, end;
    bool done = true;
    connect(&install, &ModuleInstall::progressed, this, [&](const QString& said) { last = said; });
    connect(&install, &ModuleInstall::finished, this, [&](bool installed, const QString& said) {
      done = installed;
      end = said;
    });
    install.start(path, "/some/env");
    if (stop) {
      QTRY_VERIFY_WITH_TIMEOUT(last == "Building (7 %)" || last == "wait", patience);
      install.cancel();
    }
    QTRY_COMPARE_WITH_TIMEOUT(end, sentence, patience);
    QVERIFY(!done && !install.running());
  }

  void withTorchTheProgramRunsBesideTheEngineAndIsStepped() {
    const QString interpreter = qEnvironmentVariable("TAPEDECK_TORCH");
    if (interpreter.isEmpty()) QSKIP("TAPEDECK_TORCH is not set: no interpreter with torch");
    window_ = newWindow();
    QVERIFY(openDialogAndType(interpreter));
    QTRY_VERIFY2_WITH_TIMEOUT(verdict().contains(", torch 2."), qPrintable(verdict()), patience);
    if (!need("tapedeck").startsWith("✓")) QSKIP(qPrintable(need("tapedeck")));
    QCOMPARE(verdict().right(20), QString("everything is there."));
    shots(dialog(), "environment-dialog-torch");
    clickOn(part<QPushButton>("useEnvironment"));
    QTRY_VERIFY(!dialog());
    const QString path =
        writeNotebook(folder_, "torch.ipynb",
                      {"import torch\nimport tapedeck as tf\nimport numpy as np\n"
                       "x = np.random.default_rng(1).normal(size=[2, 9, 9, 3]).astype('f4')\n"
                       "w = np.random.default_rng(2).normal(size=[3, 3, 3, 4]).astype('f4')",
                       "ours = tf.nn.conv2d(x, w, 1, 'SAME').numpy()\n"
                       "theirs = torch.conv2d(torch.tensor(x).permute(0, 3, 1, 2), "
                       "torch.tensor(w).permute(3, 2, 0, 1), padding=1)\n"
                       "print(np.abs(ours - theirs.permute(0, 2, 3, 1).numpy()).max() < 1e-4)"});
    QVERIFY(openHere(path));
    click(0);
    runByKey(0);
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QVERIFY2(state().startsWith("session in "), qPrintable(state()));
    // The number beside the cell, whichever IPython is there.
    QVERIFY2(state().contains("paused before conv2d, cell [2] line 1") && state().contains(", torch 2."),
             qPrintable(state()));
    shots(window_.get(), "environment-torch-session");
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
    QCOMPARE(outputText(*window_, 1), "True\n");
  }
};

TAPEDECK_TEST(TestEnvironment)
#include "tst_environment.moc"
