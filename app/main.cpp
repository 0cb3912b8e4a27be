#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <cstdio>
#include <cstring>

#include "app/headless.h"
#include "app/kernel/debug/program_list.h"
#include "app/kernel/process/python_environment.h"
#include "app/shell/window/main_window.h"
#include "inspector/ui/appearance.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/window_scale.h"

namespace {

bool has(int argc, char** argv, const char* option) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], option) == 0) return true;
  return false;
}

/// The list needs no display.
int listPrograms(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  std::fputs(tapedeck::app::programTable(tapedeck::app::runningPrograms()).toLocal8Bit().constData(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && has(argc, argv, "--attach")) return listPrograms(argc, argv);
  for (const char* option : {"--headless", "--help", "-h", "--help-all", "--version", "-v"})  // no window
    if (has(argc, argv, option)) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setApplicationName("Tapedeck");
  QApplication::setOrganizationName("tapedeck");
  QApplication::setApplicationVersion(TAPEDECK_VERSION);
  QApplication::setWindowIcon(tapedeck::inspector::icon("tapedeck"));

  QCommandLineParser parser;
  parser.setApplicationDescription("A notebook in which you run, step through and inspect eager models.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("notebook", "The notebook, or the Python program, to open or to run.",
                               "[NOTEBOOK | PROGRAM.py]");
  const QCommandLineOption headless("headless", "Run all cells without a window and write the results.");
  const QCommandLineOption attach(
      "attach",
      "Lists the programs that run with TAPEDECK_DEBUG=1; with a PID, opens a window attached to it.");
  const QCommandLineOption out("out", "With --headless: the folder for the results (default: NAME-results).",
                               "DIR");
  const QCommandLineOption env(
      "env",
      "Runs it in this Python environment: a folder of a venv, of conda or of pyenv, or an interpreter.",
      "FOLDER");
  parser.addOptions({headless, out, attach, env});
  parser.process(application);

  const QStringList notebooks = parser.positionalArguments();
  const QString environment =
      parser.isSet(env) ? QDir::cleanPath(QFileInfo(parser.value(env)).absoluteFilePath()) : QString();
  if (QString problem;
      !environment.isEmpty() && tapedeck::app::interpreterOf(environment, &problem).isEmpty()) {
    std::fprintf(stderr, "%s\n", problem.toLocal8Bit().constData());
    return 2;
  }
  if (parser.isSet(headless)) {
    if (notebooks.size() != 1) {
      std::fprintf(stderr, "Which notebook? --headless NOTEBOOK [--out DIR] [--env FOLDER]\n");
      return 2;
    }
    const QString folder =
        parser.isSet(out) ? parser.value(out) : QFileInfo(notebooks[0]).completeBaseName() + "-results";
    return tapedeck::app::runHeadless({notebooks[0], folder, environment});
  }
  const qint64 process = parser.isSet(attach) ? notebooks.value(0).toLongLong() : 0;
  if (parser.isSet(attach) && (notebooks.size() != 1 || process <= 0)) {
    const QString given = notebooks.join(' ');
    std::fprintf(stderr,
                 "\"%s\" is not a process ID; --attach alone lists the programs that can be attached to.\n",
                 given.toLocal8Bit().constData());
    return 2;
  }
  tapedeck::inspector::applyAppearance(tapedeck::inspector::savedAppearance());
  tapedeck::inspector::applySavedScale();
  auto* window = new tapedeck::app::MainWindow;
  window->show();
  if (parser.isSet(attach)) {
    window->attachTo(process);
    return QApplication::exec();
  }
  if (!environment.isEmpty()) window->runIn(environment);
  for (const QString& notebook : notebooks) window->openNotebook(QFileInfo(notebook).absoluteFilePath());
  return QApplication::exec();
}
