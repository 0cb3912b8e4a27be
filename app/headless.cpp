#include "app/headless.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSaveFile>
#include <QSocketNotifier>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>

#include "app/control/batch_run.h"
#include "app/control/chosen_environments.h"
#include "app/kernel/jupyter/kernel_session.h"
#include "app/notebook/document/script.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/panels/tape/graph_layout.h"
#include "inspector/panels/tape/tape_svg.h"
#include "plots/export.h"
#include "plots/picture_export.h"

namespace tapedeck::app {
namespace {

int interruptDescriptor = -1;

void onInterrupt(int) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(interruptDescriptor, &one, sizeof one);
}

void say(const QString& text) {
  std::fprintf(stderr, "%s\n", qPrintable(text));
  std::fflush(stderr);
}

QString fileName(QString series) {
  static const QRegularExpression unsafe("[^A-Za-z0-9_.-]+");
  return series.replace(unsafe, "_");
}

class HeadlessRun : public QObject {
 public:
  explicit HeadlessRun(HeadlessOptions options)
      : options_(std::move(options)), run_(&document_, &kernel_, &session_) {
    session_.setSource(kernel_.debugSource());
    connect(&run_, &BatchRun::said, this, &say);
    connect(&run_, &BatchRun::collected, this, &HeadlessRun::finish);
    connect(&run_, &BatchRun::finished, this, [this] { QCoreApplication::exit(exitCode_); });
  }

  void start() {
    try {
      document_.load(options_.notebook);
    } catch (const NotebookError& error) {
      say(error.what());
      return QCoreApplication::exit(2);
    }
    if (!QDir().mkpath(options_.folder)) {
      say(QString("The folder %1 can't be created.").arg(options_.folder));
      return QCoreApplication::exit(2);
    }
    if (isScript(document_.path())) kernel_.setProgram(document_.path());
    chooseEnvironment();
    clock_.start();
    run_.start();
  }

 private:
  void chooseEnvironment() {
    if (!options_.environment.isEmpty()) return kernel_.setPythonEnvironment(options_.environment);
    const WantedEnvironment wanted = wantedEnvironment(document_);
    if (wanted.given.isEmpty()) return;
    if (recentEnvironments().contains(wanted.given)) return kernel_.setPythonEnvironment(wanted.given);
    say(QString(
            "%1 names the Python environment %2, which was not chosen on this machine yet; --env %2 uses it.")
            .arg(options_.notebook, wanted.given));
  }

  void finish(bool failed) {
    exitCode_ = failed ? 1 : 0;
    try {
      write();
      say(QString("%1 of %2 cells ran in %3 s; results are in %4")
              .arg(run_.started())
              .arg(run_.cells())
              .arg(static_cast<double>(clock_.elapsed()) / 1000, 0, 'f', 1)
              .arg(options_.folder));
    } catch (const std::runtime_error& error) {
      say(error.what());
      exitCode_ = 2;
    }
  }

  void write() {
    document_.save(path(QFileInfo(options_.notebook).completeBaseName() + ".ipynb"));
    if (run_.omittedRecords() > 0)
      say(QString("records.json has the newest %L1 of %L2 records.")
              .arg(run_.records().size())
              .arg(run_.records().size() + run_.omittedRecords()));
    QByteArray json = "{\"format\": \"tapedeck-records\", \"version\": 1, \"omitted\": " +
                      QByteArray::number(run_.omittedRecords()) + ", \"records\": [";
    const char* separator = "\n";
    for (const std::string& record : run_.records())
      json += std::exchange(separator, ",\n") + QByteArray::fromStdString(record);
    writeFile("records.json", json + "\n]}\n");
    if (const protocol::TapeRecords& tape = run_.lastTape(); !tape.records.empty()) {
      const inspector::TapeExtent extent{tape.before, tape.after, tape.ops, tape.vjps};
      const auto graph =
          inspector::buildTapeGraph(tape.records, run_.newestRecord(), extent, inspector::Moment::now);
      writeFile("tape.svg", inspector::tapeGraphSvg(graph, inspector::layoutTapeGraph(graph)));
    } else {
      clear({"tape.svg"});
    }
    writeHistograms();
    writeImages();
    std::vector<plots::ChartSeries> all;
    for (const QString& name : run_.series().names()) {
      plots::ChartSeries one;
      one.data = run_.series().series(name);
      all.push_back(one);
    }
    const QStringList axes = run_.series().axes();
    if (axes.isEmpty()) return clear({"plots.svg", "plots.png"});
    // Curves over different axes are no one picture.
    for (const QString& axis : axes) {
      std::vector<plots::ChartSeries> over;
      std::copy_if(all.begin(), all.end(), std::back_inserter(over), [&](const plots::ChartSeries& one) {
        return one.data->x == axis && one.data->size() > 0;
      });
      writePlot(axis == axes.first() ? QString("plots") : QString("plots-over-" + fileName(axis)), over);
    }
    if (all.size() > 1)
      for (const auto& one : all)
        if (one.data->size() > 0) writePlot("plot-" + fileName(one.data->title()), {one});
  }

  void writeHistograms() {
    for (const QString& name : run_.pictures().histogramNames()) {
      plots::HistogramDrawing drawing;
      drawing.setHistograms(run_.pictures().histograms(name));
      if (drawing.shown().empty()) continue;  // a cell that ran again did not write it again
      const QString label = run_.pictures().label(name), file = "histogram-" + fileName(label);
      writeFile(file + ".svg", plots::svgOf(label, drawing));
      writePng(file, plots::imageOf(label, drawing));
    }
  }

  /// Of the newest step, in one row.
  void writeImages() {
    for (const QString& name : run_.pictures().imageNames()) {
      if (run_.pictures().images(name).empty()) continue;
      const auto decoded = plots::decodeImages(*run_.pictures().images(name).back());
      if (!decoded.problem.isEmpty()) throw std::runtime_error((name + ": " + decoded.problem).toStdString());
      writePng("images-" + fileName(run_.pictures().label(name)),
               plots::imageOf(decoded, static_cast<int>(decoded.images.size())));
    }
  }

  void writePng(const QString& name, const QImage& image) {
    QString error;
    if (!plots::replaceByPng(path(name + ".png"), image, &error))
      throw std::runtime_error(error.toStdString());
  }

  void writePlot(const QString& name, const std::vector<plots::ChartSeries>& series) {
    QString error;
    if (!plots::writeSvg(series, {}, path(name + ".svg"), &error) ||
        !plots::writePng(series, {}, path(name + ".png"), &error))
      throw std::runtime_error(error.toStdString());
  }

  /// What an earlier run left would pass for this one's.
  void clear(const QStringList& names) {
    for (const QString& name : names)
      if (QFile file(path(name)); file.exists() && !file.remove())
        throw std::runtime_error(
            QString("%1 could not be removed: %2").arg(path(name), file.errorString()).toStdString());
  }

  QString path(const QString& name) const { return QDir(options_.folder).filePath(name); }

  void writeFile(const QString& name, const QByteArray& bytes) {
    QSaveFile file(path(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
      throw std::runtime_error(
          QString("%1 could not be written: %2").arg(path(name), file.errorString()).toStdString());
  }

  HeadlessOptions options_;
  Document document_;
  KernelSession kernel_;
  inspector::Session session_;
  BatchRun run_;
  QElapsedTimer clock_;
  int exitCode_ = 0;
};

}  // namespace

int runHeadless(const HeadlessOptions& options) {
  interruptDescriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  QSocketNotifier interrupted(interruptDescriptor, QSocketNotifier::Read);
  QObject::connect(&interrupted, &QSocketNotifier::activated, qApp, [] {
    say("Interrupted.");
    QCoreApplication::exit(130);
  });
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
  // The exit code is the run's: the end of the session process, after which nothing is left, must not quit
  // first.
  QCoreApplication::setQuitLockEnabled(false);
  HeadlessRun run(options);
  QMetaObject::invokeMethod(
      &run, [&run] { run.start(); }, Qt::QueuedConnection);
  return QCoreApplication::exec();
}

}  // namespace tapedeck::app
