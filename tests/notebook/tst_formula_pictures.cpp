// Forty common formulas painted from a notebook in its window: each is as large as KaTeX in a browser makes
// it. The pictures are saved; formulas/beside_katex.py puts them beside KaTeX's own.
#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRawFont>
#include <QScrollBar>
#include <QStyle>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QtTest>

#include "inspector/ui/appearance.h"
#include "inspector/ui/math/formula_fonts.h"
#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"
#include "tests/files.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::inspector;
using nlohmann::json;

namespace {

/// Of formulas/formulas.txt, by their lines: those that notebooks are full of.
constexpr int common[] = {1,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,  13, 14, 16,
                          18, 19, 22, 23, 24, 26, 27, 29,  30,  33,  34,  36, 37, 45,
                          47, 52, 53, 58, 61, 74, 76, 117, 118, 119, 120, 121};
constexpr double tolerance_em = 0.04, tolerance_pixels = 2;

struct RecordedFormula {
  QString tex;
  bool display = false;
  QJsonArray glyphs, rules;

  QString source() const { return display ? "$$" + tex + "$$" : "$" + tex + "$"; }
};

std::vector<RecordedFormula> recordedFormulas() {
  QFile file(TAPEDECK_SOURCE_DIR "/tests/notebook/formulas/positions.json");
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QJsonArray rows = QJsonDocument::fromJson(file.readAll()).array();
  std::vector<RecordedFormula> formulas;
  for (const int line : common) {
    const QJsonValue row = rows[line - 1];
    formulas.push_back(
        {row["tex"].toString(), row["display"].toBool(), row["glyphs"].toArray(), row["rules"].toArray()});
  }
  return formulas;
}

/// Of the ink, in em: the letters' own, and with rules and the frames of drawings.
struct Extent {
  QRectF letters, all;
};

QRectF inkOf(const FormulaGlyphs& glyphs, std::size_t index, QPointF at) {
  constexpr double units = 100;
  if (glyphs.face < 0) return {};
  const QRawFont font = formulaFont(glyphs.face, units);
  const QRectF ink = font.boundingRect(glyphs.indexes[index]);
  const double scale = glyphs.size / units;
  return {at + scale * ink.topLeft(), scale * ink.size()};
}

/// Each glyph's ink in the place where a browser put it. Tags are left out: they depend on the line's width.
Extent extentOf(const RecordedFormula& formula, const SetFormula& set) {
  struct Placed {
    QString letter;
    QPointF at;
    const FormulaGlyphs* glyphs;
    std::size_t index;
  };
  constexpr double recorded_line = 40;
  SetFormula untagged = set;
  untagged.tag = {};
  const MathBox box = untagged.whole(recorded_line);
  double first = 0;
  for (const MathBox& part : set.lines.front()) first += part.width;
  const QPointF left((box.width - first) / 2, 0);
  std::vector<Placed> placed;
  for (const FormulaInk& ink : box.ink) {
    const auto* glyphs = std::get_if<FormulaGlyphs>(&ink);
    if (glyphs == nullptr) continue;
    for (std::size_t i = 0; i < glyphs->offsets.size(); ++i)
      placed.push_back({QString(glyphs->text[static_cast<qsizetype>(i)]),
                        glyphs->at + QPointF(glyphs->offsets[i], 0) - left, glyphs, i});
  }
  Extent extent;
  for (const QJsonValue& glyph : formula.glyphs) {
    const QPointF at(glyph[1].toDouble() / 1000, glyph[2].toDouble() / 1000);
    for (const Placed& one : placed)
      if (one.letter == glyph[0].toString() && (one.at - at).manhattanLength() < 0.1)
        extent.letters |= inkOf(*one.glyphs, one.index, at);
  }
  extent.all = extent.letters;
  for (const QJsonValue& rule : formula.rules)
    extent.all |= QRectF(rule[0].toDouble() / 1000, rule[1].toDouble() / 1000, rule[2].toDouble() / 1000,
                         rule[3].toDouble() / 1000);
  return extent;
}

QRect inkIn(const QImage& image, const QRect& area) {
  const QColor ground = image.pixelColor(area.topLeft());
  QRect ink;
  for (int y = area.top(); y <= area.bottom(); ++y)
    for (int x = area.left(); x <= area.right(); ++x) {
      const QColor color = image.pixelColor(x, y);
      const int off =
          std::max({std::abs(color.red() - ground.red()), std::abs(color.green() - ground.green()),
                    std::abs(color.blue() - ground.blue())});
      if (off > 60) ink |= QRect(x, y, 1, 1);
    }
  return ink;
}

}  // namespace

class TestFormulaPictures : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { applyAppearance(Appearance::light); }

  void fortyFormulasAreAsLargeAsInABrowser_data() {
    QTest::addColumn<bool>("dark");
    QTest::addColumn<QSize>("size");
    for (const QSize& size : {QSize(1280, 800), QSize(2560, 1440)})
      for (const bool dark : {false, true})
        QTest::addRow("%d-%s", size.width(), dark ? "dark" : "light") << dark << size;
  }
  void fortyFormulasAreAsLargeAsInABrowser() {
    QFETCH(bool, dark);
    QFETCH(QSize, size);
    static_assert(std::size(common) == 40);
    const std::vector<RecordedFormula> formulas = recordedFormulas();
    QCOMPARE(formulas.size(), std::size(common));
    applyAppearance(dark ? Appearance::dark : Appearance::light);
    // From a file, in cells of ten.
    json cells = json::array();
    for (std::size_t i = 0; i < formulas.size(); i += 10) {
      QStringList sources;
      for (std::size_t k = i; k < i + 10; ++k) sources << formulas[k].source();
      cells.push_back(markdownCell("m" + std::to_string(i), sources.join("\n\n").toStdString()));
    }
    QTemporaryDir folder;
    const QString path = folder.filePath("forty.ipynb");
    tapedeck::test::write(path, notebookOf(cells));
    Window window;
    window.document.load(path);
    window.start(size);
    save(window.view.grab().toImage(), QString("formulas-top-%1").arg(QTest::currentDataTag()));
    // All of it at once.
    QTRY_VERIFY(fitsAll(window.view));
    QTRY_VERIFY(allAreSet(window));
    QTRY_VERIFY(fitsAll(window.view));
    const QImage image = window.view.grab().toImage().convertToFormat(QImage::Format_RGB32);
    save(image, QString("formulas-%1").arg(QTest::currentDataTag()));
    Katex katex;
    for (std::size_t i = 0; i < formulas.size(); ++i) {
      const StaticText* text = window.cell(static_cast<int>(i / 10))->rendered();
      const QTextBlock block = text->document()->findBlockByNumber(static_cast<int>(i % 10));
      const QRectF place = text->document()->documentLayout()->blockBoundingRect(block);
      const QPoint origin = text->viewport()->mapTo(&window.view, QPoint(0, 0));
      const QRect area = place.toAlignedRect().translated(origin) & image.rect();
      const Katex::Answer answer = katex.set(formulas[i].tex, formulas[i].display);
      const SetFormula set = layOutFormula(answer.markup, formulas[i].display);
      const double em = formula_scale * QRawFont::fromFont(text->document()->defaultFont()).pixelSize();
      // The tag is at the right end of the line.
      const int right = set.hasTag() ? area.right() - qCeil(3 * em) : area.right();
      const QRect ink = inkIn(image, QRect(area.topLeft(), QPoint(right, area.bottom())));
      const Extent extent = extentOf(formulas[i], set);
      const double slack = tolerance_em * em + tolerance_pixels;
      const QString measured = QString("%1: %2 x %3 pixels painted, letters %4 x %5, all %6 x %7")
                                   .arg(formulas[i].tex)
                                   .arg(ink.width())
                                   .arg(ink.height())
                                   .arg(extent.letters.width() * em)
                                   .arg(extent.letters.height() * em)
                                   .arg(extent.all.width() * em)
                                   .arg(extent.all.height() * em);
      QVERIFY2(ink.width() >= extent.letters.width() * em - slack, qPrintable(measured));
      QVERIFY2(ink.height() >= extent.letters.height() * em - slack, qPrintable(measured));
      QVERIFY2(ink.width() <= extent.all.width() * em + slack, qPrintable(measured));
      QVERIFY2(ink.height() <= extent.all.height() * em + slack, qPrintable(measured));
      if (set.hasTag())
        QVERIFY(!inkIn(image, QRect(QPoint(right, area.top()), area.bottomRight())).isEmpty());
      if (size.width() == 1280 && !dark)
        save(image.copy(ink.adjusted(-2, -2, 2, 2)), QString("formula-%1").arg(common[i]));
    }
  }

 private:
  static bool allAreSet(const Window& window) {
    for (int i = 0; i < window.document.cellCount(); ++i) {
      const CellWidget* cell = window.cell(i);
      if (cell->richText() == nullptr || !cell->richText()->ready()) return false;
      // Neither source that waits nor source that can't be set.
      const QString shown = cell->rendered()->document()->toPlainText();
      if (shown.contains('$') || shown.contains('\\')) return false;
      if (shown.count(QChar(QChar::ObjectReplacementCharacter)) < 10) return false;
    }
    return true;
  }
  /// The window is as high as the notebook.
  static bool fitsAll(NotebookView& view) {
    const int hidden = view.verticalScrollBar()->maximum();
    if (hidden > 0) view.resize(view.width(), view.height() + hidden);
    QCoreApplication::processEvents();
    return view.verticalScrollBar()->maximum() == 0;
  }
  static void save(const QImage& image, const QString& name) {
    const QString folder = TAPEDECK_BUILD_DIR "/pictures";
    QDir().mkpath(folder);
    QVERIFY2(image.save(QString("%1/%2.png").arg(folder, name), "PNG", 80), qPrintable(name));  // a fast zlib
  }
};

TAPEDECK_TEST(TestFormulaPictures)
#include "tst_formula_pictures.moc"
