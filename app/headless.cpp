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
#include <csignal>
#include <cstdio>

#include "app/control/cell_runner.h"
#include "engine/protocol/codec.h"
#include "inspector/model/series_model.h"
#include "inspector/model/tape_graph.h"
#include "inspector/panels/tape/graph_layout.h"
#include "inspector/panels/tape/tape_svg.h"
#include "plots/export.h"

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

QString withoutAnsi(QString text) {
  static const QRegularExpression escape("\x1b\\[[0-9;]*[A-Za-z]");
  return text.remove(escape);
}

QString fileName(QString series) {
  static const QRegularExpression unsafe("[^A-Za-z0-9_.-]+");
  return series.replace(unsafe, "_");
}

class HeadlessRun : public QObject {
 public:
  explicit HeadlessRun(HeadlessOptions options)
      : options_(std::move(options)), runner_(&document_, &kernel_) {
    session_.setSource(kernel_.debugSource());
    connect(&runner_, &CellRunner::cellStateChanged, this, &HeadlessRun::tellProgress);
    connect(&runner_, &CellRunner::cellFailed, this, &HeadlessRun::tellError);
    connect(&runner_, &CellRunner::finished, this, &HeadlessRun::collect);
    connect(&kernel_, &KernelSession::stateChanged, this, [this](KernelState state, const QString& sentence) {
      if (state == KernelState::dead) {
        exitCode_ = 1;
        say(sentence);
        finish();
      }
    });
    connect(&kernel_, &KernelSession::inputRequested, this, [this](const QString&, const QString& prompt) {
      say(QString("A cell asks for input (\"%1\"), which a run without a window can't give: it gets an empty "
                  "line.")
              .arg(prompt));
      kernel_.sendInput({});
    });
    connect(&session_, &inspector::Session::statusChanged, this, &HeadlessRun::collectNext);
    connect(&series_, &inspector::SeriesModel::seriesChanged, this, &HeadlessRun::collectNext);
  }

  void start() {
    try {
      document_.load(options_.notebook);
    } catch (const NotebookError& error) {
      say(error.what());
      return QCoreApplication::exit(2);
    }
    if (!QDir().mkpath(options_.folder)) {
      say(QString("The folder %1 can't be made.").arg(options_.folder));
      return QCoreApplication::exit(2);
    }
    QStringList cells;
    for (int i = 0; i < document_.cellCount(); ++i)
      if (document_.cell(i).type == CellType::code) cells << document_.cell(i).id;
    total_ = static_cast<int>(cells.size());
    clock_.start();
    if (cells.isEmpty()) return finish();
    runner_.run(cells);
  }

 private:
  void tellProgress(const QString& cellId, CellState state) {
    if (state != CellState::busy) return;
    const int index = document_.indexOf(cellId);
    say(QString("[%1/%2] %3")
            .arg(++started_)
            .arg(total_)
            .arg(document_.cell(index).source.trimmed().section('\n', 0, 0).left(70)));
  }

  void tellError(const QString& cellId, const nlohmann::json& error) {
    exitCode_ = 1;
    say(QString("Cell %1 failed:").arg(document_.indexOf(cellId) + 1));
    for (const auto& line : error.value("traceback", std::vector<std::string>{}))
      say(withoutAnsi(QString::fromStdString(line)));
  }

  // Everything ran: now the session's records, its last tape and its curves, page by page.
  void collect() {
    collecting_ = true;
    ask<protocol::Status>(protocol::GetStatus{}, [this](const protocol::Status& status) {
      expectedRecords_ = status.records;
      expectedPoints_ = status.series_points;
      statusKnown_ = true;
      requestRecords();
    });
  }

  /// What can't be had is told, and the run ends with what there is.
  template <class Answer>
  void ask(const protocol::Request& request, std::function<void(const Answer&)> answer) {
    const bool asked =
        session_.request<Answer>(request, this, std::move(answer), [this](const protocol::Failure& failure) {
          say(QString("The session's records could not be had: %1")
                  .arg(QString::fromStdString(failure.reason)));
          finish();
        });
    if (!asked) finish();
  }

  void requestRecords() {
    if (records_.size() < expectedRecords_) {
      protocol::GetRecords get;
      get.first = records_.size() + 1;
      get.count = 500;
      ask<protocol::Records>(get, [this](const protocol::Records& page) { takeRecords(page); });
    } else if (lastPlayback_.tape != 0) {
      protocol::GetTape get;
      get.tape = lastPlayback_.tape;
      get.last = expectedRecords_;
      ask<protocol::TapeRecords>(get, [this](const protocol::TapeRecords& tape) {
        tape_ = tape.records;
        tapeDone_ = true;
        collectNext();
      });
    } else {
      tapeDone_ = true;
      collectNext();
    }
  }

  void takeRecords(const protocol::Records& page) {
    for (const auto& record : page.records) {
      if (record.kind == protocol::RecordKind::playback) lastPlayback_ = record;
      records_.push_back(protocol::to_json(record));
    }
    if (page.records.empty()) expectedRecords_ = records_.size();
    requestRecords();
  }

  void collectNext() {
    if (!collecting_ || !statusKnown_ || !tapeDone_) return;
    if (series_.position() >= expectedPoints_) finish();
  }

  void finish() {
    if (std::exchange(finished_, true)) return;
    try {
      write();
      say(QString("%1 of %2 cells ran in %3 s; results are in %4")
              .arg(started_)
              .arg(total_)
              .arg(static_cast<double>(clock_.elapsed()) / 1000, 0, 'f', 1)
              .arg(options_.folder));
    } catch (const std::runtime_error& error) {
      say(error.what());
      exitCode_ = 2;
    }
    kernel_.shutdown();
    QCoreApplication::exit(exitCode_);
  }

  void write() {
    document_.save(path(QFileInfo(options_.notebook).completeBaseName() + ".ipynb"));
    QByteArray json = "{\"format\": \"tapedeck-records\", \"version\": 1, \"records\": [";
    for (std::size_t i = 0; i < records_.size(); ++i) {
      json += i ? ",\n" : "\n";
      json += QByteArray::fromStdString(records_[i]);
    }
    writeFile("records.json", json + "\n]}\n");
    if (!tape_.empty()) {
      const auto graph = inspector::buildTapeGraph(tape_, expectedRecords_);
      writeFile("tape.svg", inspector::tapeGraphSvg(graph, inspector::layoutTapeGraph(graph)));
    }
    std::vector<plots::ChartSeries> all;
    for (const QString& name : series_.names()) {
      plots::ChartSeries one;
      one.data = series_.series(name);
      all.push_back(one);
    }
    if (all.empty()) return;
    writePlot("plots", all);
    if (all.size() > 1)
      for (const auto& one : all) writePlot("plot-" + fileName(one.data->name), {one});
  }

  void writePlot(const QString& name, const std::vector<plots::ChartSeries>& series) {
    QString error;
    if (!plots::writeSvg(series, {}, path(name + ".svg"), &error) ||
        !plots::writePng(series, {}, path(name + ".png"), &error))
      throw std::runtime_error(error.toStdString());
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
  inspector::SeriesModel series_{&session_};
  CellRunner runner_;
  QElapsedTimer clock_;
  int total_ = 0, started_ = 0, exitCode_ = 0;
  bool collecting_ = false, statusKnown_ = false, tapeDone_ = false, finished_ = false;
  quint64 expectedRecords_ = 0, expectedPoints_ = 0;
  std::vector<std::string> records_;
  protocol::Record lastPlayback_;
  std::vector<protocol::Record> tape_;
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
  HeadlessRun run(options);
  QMetaObject::invokeMethod(
      &run, [&run] { run.start(); }, Qt::QueuedConnection);
  return QCoreApplication::exec();
}

}  // namespace tapedeck::app
