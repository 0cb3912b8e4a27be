// Curves written to files, from a window and without one.
#include <unistd.h>

#include <QImage>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>
#include <cmath>

#include "plots/export.h"
#include "tests/files.h"
#include "tests/plots/plots_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::test;
using test::falling;

namespace {

/// Points of all polylines of an SVG, one number per line.
QList<qsizetype> polylines(const QByteArray& svg) {
  QXmlStreamReader reader(svg);
  QList<qsizetype> result;
  while (!reader.atEnd()) {
    reader.readNext();
    if (!reader.isStartElement() || reader.name() != QLatin1String("polyline")) continue;
    result
        << reader.attributes().value("points").toString().split(QLatin1Char(' '), Qt::SkipEmptyParts).size();
  }
  return reader.hasError() ? QList<qsizetype>{-1} : result;
}

/// Writes what the panel shows; what it says about it.
QString exported(test::PlotsWindow& window, const QString& path) {
  QString said;
  QObject::connect(&window.view, &plots::PlotsView::done, &window.view,
                   [&said, path](const QString& sentence) {
                     if (sentence == QStringLiteral("Wrote ") + path) said = sentence;
                   });
  QObject::connect(&window.view, &plots::PlotsView::failed, &window.view,
                   [&said](const QString& sentence) { said = sentence; });
  window.view.exportTo(path);
  if (!waitFor([&said] { return !said.isEmpty(); }, 10000)) return QStringLiteral("nothing came");
  window.view.disconnect(&window.view);
  return said;
}

}  // namespace

class TestPlotsExport : public QObject {
  Q_OBJECT
 private slots:
  void writesSvgWithEveryPoint();
  void writesPngOfTheAskedSize();
  void replacesTheFileThatIsThere();
  void saysWhyAFileCantBeWritten();
  void rendersWithoutAView();
};

void TestPlotsExport::writesSvgWithEveryPoint() {
  test::PlotsWindow window;
  window.show();
  window.add("loss <1> & more", 50, falling);
  window.add("gap", 30, [](int i) { return i == 10 ? std::nan("") : 1.0 * i; });
  QTemporaryDir folder;
  const QString path = folder.filePath("curves.svg");
  QCOMPARE(exported(window, path), QStringLiteral("Wrote ") + path);
  const QByteArray svg = contents(path);
  QVERIFY(QSvgRenderer(svg).isValid());
  const QList<qsizetype> lines = polylines(svg);
  for (const qsizetype expected : {50, 10, 19})
    QVERIFY2(lines.contains(expected), qPrintable(QString::number(expected)));
  QVERIFY(svg.contains("loss &lt;1&gt; &amp; more"));
  QVERIFY(svg.contains("step"));
  // Elsewhere this machine's font may be missing.
  QVERIFY(svg.contains("font-family=\""));
  for (qsizetype at = svg.indexOf("font-family=\""); at >= 0; at = svg.indexOf("font-family=\"", at + 1))
    QVERIFY2(svg.mid(at, svg.indexOf('"', at + 13) - at).endsWith(", sans-serif"), svg.mid(at, 60));
  // What is hidden is not written, and a zoom stays.
  window.view.setSeriesVisible("gap", false);
  QCOMPARE(exported(window, path), QStringLiteral("Wrote ") + path);
  QVERIFY(!polylines(contents(path)).contains(19));
}

void TestPlotsExport::writesPngOfTheAskedSize() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 50, falling);
  QTemporaryDir folder;
  QVERIFY(exported(window, folder.filePath("curves.png")).startsWith("Wrote "));
  const QImage image(folder.filePath("curves.png"));
  QCOMPARE(image.size(), QSize(1920, 1200));
  QCOMPARE(image.pixelColor(2, 2), QColor(Qt::white));
  const QRgb curve = plots::curveColor(inspector::Theme::light(), 0).rgb();
  int inked = 0;
  for (int x = 0; x < image.width(); ++x)
    for (int y = 0; y < image.height(); ++y) inked += image.pixel(x, y) == curve;
  QVERIFY(inked > 500);
}

void TestPlotsExport::replacesTheFileThatIsThere() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 5, falling);
  QTemporaryDir folder;
  for (const char* name : {"curves.svg", "curves.png"}) {
    const QString path = folder.filePath(name), other = folder.filePath(QStringLiteral("other ") + name);
    QFile old(path);
    QVERIFY(old.open(QIODevice::WriteOnly));
    old.write("old");
    old.close();
    QCOMPARE(::link(qPrintable(path), qPrintable(other)), 0);
    QCOMPARE(exported(window, path), QStringLiteral("Wrote ") + path);
    QVERIFY(contents(path).size() > 100);
    QCOMPARE(contents(other), QByteArray("old"));  // written over, it would have the new picture
  }
}

void TestPlotsExport::saysWhyAFileCantBeWritten() {
  test::PlotsWindow window;
  window.show();
  window.add("loss", 5, falling);
  const QString said = exported(window, "/no/such/folder/x.svg");
  QVERIFY2(said.startsWith("/no/such/folder/x.svg could not be written: "), qPrintable(said));
  QString error;
  plots::ExportOptions options;
  options.size = {50'000, 50'000};
  QVERIFY(!plots::writePng({{window.model.series("loss"), true}}, options, "/tmp/x.png", &error));
  QVERIFY2(error.startsWith(QStringLiteral("A picture of 50000×50000")), qPrintable(error));
}

void TestPlotsExport::rendersWithoutAView() {
  inspector::SeriesData data;
  data.name = "loss";
  for (int i = 0; i < 12; ++i) {
    data.steps.push_back(i);
    data.values.push_back(std::exp(-i));
    data.records.push_back(0);
  }
  QTemporaryDir folder;
  plots::ExportOptions options;
  options.logarithmic = true;
  options.title = QStringLiteral("Noisy <square>");
  QString error;
  QVERIFY2(plots::writeSvg({{&data, true}}, options, folder.filePath("a.svg"), &error), qPrintable(error));
  const QByteArray svg = contents(folder.filePath("a.svg"));
  QVERIFY2(polylines(svg).contains(12), svg.left(2000));
  QVERIFY(svg.contains("Noisy &lt;square&gt;"));
  QVERIFY(svg.contains(">1e-03<"));
  QVERIFY2(plots::writePng({{&data, true}}, options, folder.filePath("a.png"), &error), qPrintable(error));
  if (const QString pictures = qEnvironmentVariable("TAPEDECK_PICTURES"); !pictures.isEmpty()) {
    QFile::remove(pictures + "/plots_export.png");
    QFile::copy(folder.filePath("a.png"), pictures + "/plots_export.png");
  }
}

TAPEDECK_TEST(TestPlotsExport)
#include "tst_plots_export.moc"
