// The program run without a window, as `./run.sh --headless` runs it: the samples, and what goes wrong.
#include <signal.h>
#include <unistd.h>

#include <QImage>
#include <QProcess>
#include <QXmlStreamReader>
#include <QtTest>
#include <nlohmann/json.hpp>

#include "tests/no_engine.h"
#include "tests/test_program.h"

namespace {

constexpr int headless_patience = 500'000;  // ms: a bound for a hang

struct Outcome {
  int code = -1;
  QString said;
  QDir folder;
  bool has(const QString& name) const { return folder.exists(name); }
  QByteArray file(const QString& name) const {
    QFile file(folder.filePath(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  nlohmann::json json(const QString& name) const {
    return nlohmann::json::parse(file(name).toStdString(), nullptr, false);
  }
};

int elements(const QByteArray& svg, const QString& name) {
  int count = 0;
  QXmlStreamReader reader(svg);
  while (!reader.atEnd())
    if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == name) ++count;
  return reader.hasError() ? -1 : count;
}

}  // namespace

class TestHeadless : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  void begin(QProcess& process, const QString& notebook, const QString& results) {
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(TAPEDECK_BUILD_DIR "/app/tapedeck", {"--headless", notebook, "--out", results});
  }
  Outcome run(const QString& notebook) {
    Outcome outcome;
    outcome.folder = QDir(folder_.filePath(QFileInfo(notebook).completeBaseName() + "-results"));
    QProcess process;
    begin(process, notebook, outcome.folder.path());
    if (process.waitForFinished(headless_patience) && process.exitStatus() == QProcess::NormalExit)
      outcome.code = process.exitCode();
    outcome.said = QString::fromUtf8(process.readAll());
    return outcome;
  }
  QString write(const QString& name, const QStringList& cells) {
    nlohmann::json notebook = {
        {"nbformat", 4}, {"nbformat_minor", 5}, {"metadata", nlohmann::json::object()}};
    notebook["cells"] = nlohmann::json::array();
    for (int i = 0; i < cells.size(); ++i)
      notebook["cells"].push_back({{"cell_type", "code"},
                                   {"id", "cell-" + std::to_string(i)},
                                   {"metadata", nlohmann::json::object()},
                                   {"execution_count", nullptr},
                                   {"outputs", nlohmann::json::array()},
                                   {"source", cells[i].toStdString()}});
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(QByteArray::fromStdString(notebook.dump(1)));
    return file.fileName();
  }

 private slots:
  void initTestCase() {
    if (!QFileInfo::exists(TAPEDECK_BUILD_DIR "/app/tapedeck"))
      QSKIP("the program is not built: target program");
  }

  void histogramsAndImagesOfSummariesAreWrittenToo() {
    const Outcome outcome = run(write(
        "summaries.ipynb", {"import numpy as np\n"
                            "import tapedeck as tf\n"
                            "for step in range(3):\n"
                            "    tf.summary.histogram('dense/kernel', np.arange(50.) * step, step)\n"
                            "    tf.summary.image('samples', np.full([2, 4, 5, 1], 0.5 * step), step)"}));
    QVERIFY2(outcome.code == 0, qPrintable(outcome.said));
    const QByteArray svg = outcome.file("histogram-dense_kernel.svg");
    QVERIFY(elements(svg, "polyline") >= 3 && svg.contains(">dense/kernel<"));
    QCOMPARE(QImage(outcome.folder.filePath("histogram-dense_kernel.png")).size(), QSize(1920, 1200));
    const QImage samples(outcome.folder.filePath("images-samples.png"));
    QCOMPARE(samples.size(), QSize(12, 4));
    QCOMPARE(qGray(samples.pixel(0, 0)), 255);  // the newest step's
    QVERIFY(!outcome.has("plots.svg"));
  }

  // Those that train for longer have a Python test each, tests/python/test_sample_NAME.py, which runs their
  // cells with fewer steps and smaller data; a sample without one runs here in full.
  void everyShortSampleRunsAndWritesItsResults_data() {
    QTest::addColumn<QString>("path");
    for (const QFileInfo& sample : QDir(TAPEDECK_SOURCE_DIR "/samples").entryInfoList({"*.ipynb"}))
      if (const QString name = sample.completeBaseName();
          !QFileInfo::exists(TAPEDECK_SOURCE_DIR "/tests/python/samples/test_sample_" + name + ".py"))
        QTest::newRow(qPrintable(name)) << sample.absoluteFilePath();
  }
  void everyShortSampleRunsAndWritesItsResults() {
    QFETCH(QString, path);
    const auto contents = [&] {
      QFile file(path);
      return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    QByteArray before = contents();
    // This one trains for half a minute, which tst_autoencoder has it do: here it does so with fewer images.
    if (path.endsWith("/lbfgs_autoencoder.ipynb")) {
      QVERIFY(before.contains("images_to_use = 10000"));
      before.replace("images_to_use = 10000", "images_to_use = 500");
      path = folder_.filePath("lbfgs_autoencoder.ipynb");
      QFile copy(path);
      QVERIFY(copy.open(QIODevice::WriteOnly) && copy.write(before) == before.size());
    }
    // Results of an earlier run are replaced, not written over: their other names keep what they had.
    const QDir results(folder_.filePath(QFileInfo(path).completeBaseName() + "-results"));
    const QDir others(folder_.filePath(QFileInfo(path).completeBaseName() + "-others"));
    QVERIFY(results.mkpath(".") && others.mkpath("."));
    const QStringList names = {"records.json", "tape.svg", "plots.svg", "plots.png"};
    for (const QString& name : names) {
      QFile old(results.filePath(name));
      QVERIFY(old.open(QIODevice::WriteOnly));
      old.write("old");
      old.close();
      QCOMPARE(::link(qPrintable(results.filePath(name)), qPrintable(others.filePath(name))), 0);
    }
    const Outcome outcome = run(path);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.said));
    for (const QString& name : names) {
      QFile other(others.filePath(name));
      QVERIFY(other.open(QIODevice::ReadOnly));
      QVERIFY2(other.readAll() == "old", qPrintable(name));
    }

    const auto notebook = outcome.json(QFileInfo(path).fileName());
    QVERIFY(notebook.is_object());
    int code = 0;
    for (const auto& cell : notebook["cells"]) {
      if (cell["cell_type"] != "code") continue;
      QCOMPARE(cell["execution_count"].get<int>(), ++code);
      for (const auto& output : cell["outputs"]) QVERIFY(output["output_type"] != "error");
    }
    QVERIFY(code > 0);
    QVERIFY2(outcome.said.contains(QString("%1 of %1 cells ran in ").arg(code)), qPrintable(outcome.said));

    const auto records = outcome.json("records.json");
    QVERIFY(records.is_object());
    QVERIFY(records["records"].size() > 5);
    quint64 number = 0;
    bool backward = false;
    for (const auto& record : records["records"]) {
      QCOMPARE(record["number"].get<quint64>(), ++number);
      QCOMPARE(record["state"].get<std::string>(), std::string("done"));
      backward = backward || record["backward"].get<bool>();
    }
    const QString name = QFileInfo(path).completeBaseName();
    // All others are about gradients.
    QCOMPARE(backward, !QStringList({"lost_digits", "graph_functions"}).contains(name));
    QCOMPARE(outcome.has("tape.svg"), backward);
    if (backward) QVERIFY(elements(outcome.file("tape.svg"), "text") > 2);
    // Curves, or none of an earlier run either.
    const bool draws =
        !QStringList{"exploding_rnn", "gradient_none", "graph_functions", "lost_digits", "wrong_gradient"}
             .contains(name);
    QCOMPARE(outcome.has("plots.svg"), draws);
    QCOMPARE(!QImage(outcome.folder.filePath("plots.png")).isNull(), draws);
    if (draws) QVERIFY(elements(outcome.file("plots.svg"), "svg") >= 1);
    QCOMPARE(contents(), before);
  }

  void ofALongTapeTheEndIsDrawnWithItsVjps() {
    const Outcome outcome = run(write(
        "long.ipynb", {"import tapedeck as tf\nx = tf.constant(1.)\nwith tf.GradientTape() as tape:\n"
                       "    tape.watch(x)\n    y = x\n    for _ in range(5000):\n        y = tf.tanh(y)\n"
                       "tape.gradient(y, x)"}));
    QVERIFY2(outcome.code == 0, qPrintable(outcome.said));
    const QByteArray picture = outcome.file("tape.svg");
    QVERIFY(picture.contains("… 4,000 more above"));
    QCOMPARE(picture.count(">tanh<"), picture.count(">∂ tanh<"));
    QVERIFY(picture.count(">tanh<") >= 1000);
  }

  void aCellThatFailsIsToldAndTheRestIsWritten() {
    const Outcome outcome =
        run(write("fails.ipynb", {"import tapedeck as tf\ntf.ones(3) + 1.", "1 / 0", "print(3)"}));
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.said.contains("cell [2] failed:") && outcome.said.contains("ZeroDivisionError"),
             qPrintable(outcome.said));
    const auto notebook = outcome.json("fails.ipynb");
    QCOMPARE(notebook["cells"][1]["outputs"][0]["output_type"].get<std::string>(), std::string("error"));
    QVERIFY(notebook["cells"][2]["outputs"].empty());
    QVERIFY(outcome.json("records.json")["records"].size() >= 2);
  }

  void aProcessThatDiesEndsTheRunAndTheKilledCellSaysSo() {
    const Outcome outcome =
        run(write("dies.ipynb", {"print('before', flush=True)", "import os\nos.kill(os.getpid(), 9)"}));
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.said.contains("killed (signal 9)"), qPrintable(outcome.said));
    const auto notebook = outcome.json("dies.ipynb");
    QCOMPARE(notebook["cells"][0]["outputs"][0]["text"],
             nlohmann::json("before\n"));  // texts are single, as the file has them
    QVERIFY(notebook["cells"][1]["outputs"].dump().find("The session ended while this cell ran") !=
            std::string::npos);
  }

  void aCellThatAsksForInputDoesNotHang() {
    const Outcome outcome = run(write("asks.ipynb", {"name = input('Name? ')\nprint(repr(name))",
                                                     "while input('Again? ') != 'yes':\n    pass"}));
    QCOMPARE(outcome.code, 1);
    QVERIFY2(
        outcome.said.contains("asks for input (\"Name?\")") && outcome.said.contains("asks for input again"),
        qPrintable(outcome.said));
    const auto notebook = outcome.json("asks.ipynb");
    QVERIFY(notebook["cells"][0]["outputs"].dump().find("''") != std::string::npos);
    QVERIFY(notebook["cells"][1]["outputs"].dump().find("KeyboardInterrupt") != std::string::npos);
  }

  void withoutTheEngineTheCellsRunAndASentenceSaysSo() {
    const QTemporaryDir modules;
    tapedeck::test::refuseEngine(modules.path());
    qputenv("PYTHONPATH", modules.path().toUtf8());
    const Outcome outcome = run(write("plain.ipynb", {"print(6 * 7)"}));
    qunsetenv("PYTHONPATH");
    QVERIFY2(outcome.said.contains("runs without it: ImportError"), qPrintable(outcome.said));
    QVERIFY2(outcome.said.contains("There are no records"), qPrintable(outcome.said));
    QCOMPARE(outcome.code, 1);
    QVERIFY(outcome.json("plain.ipynb")["cells"][0]["outputs"].dump().find("42") != std::string::npos);
  }

  void interruptedItEndsAndLeavesNoProcess() {
    QProcess process;
    begin(
        process,
        write("endless.ipynb", {"import os\nprint('session', os.getpid(), flush=True)", "while True: pass"}),
        folder_.filePath("endless-results"));
    QByteArray said;
    for (int i = 0; i < 600 && !said.contains("[2/2]"); ++i) {
      process.waitForReadyRead(1000);
      said += process.readAll();
    }
    QVERIFY2(said.contains("[2/2]"), said.constData());
    const qint64 program = process.processId();
    QByteArray children;
    QFile list(QString("/proc/%1/task/%1/children").arg(program));
    if (list.open(QIODevice::ReadOnly)) children = list.readAll().simplified();
    process.terminate();
    QVERIFY(process.waitForFinished(headless_patience));
    QCOMPARE(process.exitCode(), 130);
    for (const QByteArray& child : children.split(' ')) {
      if (child.isEmpty()) continue;
      QTRY_VERIFY_WITH_TIMEOUT(::kill(pid_t(child.toInt()), 0) != 0, 30'000);
    }
  }
};

TAPEDECK_TEST(TestHeadless)
#include "tst_headless.moc"
