#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <cstdio>
#include <cstring>

#include "app/headless.h"
#include "app/shell/main_window.h"
#include "inspector/ui/appearance.h"
#include "inspector/ui/icons.h"

namespace {

bool wantsHeadless(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--headless") == 0) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (wantsHeadless(argc, argv)) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setApplicationName("Tapedeck");
  QApplication::setOrganizationName("tapedeck");
  QApplication::setApplicationVersion(TAPEDECK_VERSION);
  QApplication::setWindowIcon(tapedeck::inspector::icon("tapedeck"));

  QCommandLineParser parser;
  parser.setApplicationDescription("A notebook in which you run, step and look into eager models.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("notebook", "The notebook, or the Python program, to open or to run.",
                               "[NOTEBOOK | PROGRAM.py]");
  const QCommandLineOption headless("headless", "Run all cells without a window and write the results.");
  const QCommandLineOption out("out", "With --headless: the folder for the results (default: NAME-results).",
                               "DIR");
  parser.addOptions({headless, out});
  parser.process(application);

  const QStringList notebooks = parser.positionalArguments();
  if (parser.isSet(headless)) {
    if (notebooks.size() != 1) {
      std::fprintf(stderr, "Which notebook? --headless NOTEBOOK [--out DIR]\n");
      return 2;
    }
    const QString folder =
        parser.isSet(out) ? parser.value(out) : QFileInfo(notebooks[0]).completeBaseName() + "-results";
    return tapedeck::app::runHeadless({notebooks[0], folder});
  }
  tapedeck::inspector::applyAppearance(tapedeck::inspector::savedAppearance());
  auto* window = new tapedeck::app::MainWindow;
  window->show();
  for (const QString& notebook : notebooks) window->openNotebook(QFileInfo(notebook).absoluteFilePath());
  return QApplication::exec();
}
