// Which axes of a tensor are images, and whether every element is where its image says.
#include <QTest>

#include "tests/model/tensor_bench.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using Bench = test::TensorBench;

namespace {

using Extents = std::vector<std::int64_t>;

/// Elements of countingTensor() are their own places: empty where each pixel has that of its element.
QString wrongPixel(const ImageTile& tile) {
  const ImageGrid& grid = tile.grid;
  for (std::int64_t image = tile.first; image < tile.first + tile.count; ++image)
    for (std::int64_t row = 0; row < grid.rows; ++row)
      for (std::int64_t column = 0; column < grid.columns; ++column)
        for (std::int64_t channel = 0; channel < grid.channels(); ++channel) {
          Extents element = elementOf(grid, image, row, column);
          if (grid.colorAxis >= 0) element[static_cast<std::size_t>(grid.colorAxis)] = channel;
          std::int64_t place = 0;
          for (std::size_t axis = 0; axis < element.size(); ++axis)
            place = place * grid.shape[axis] + element[axis];
          const auto index = static_cast<std::size_t>(
              (((image - tile.first) * grid.rows + row) * grid.columns + column) * grid.channels() + channel);
          const ImagePlace back = placeOf(grid, element);
          if (back.image != image || back.row != row || back.column != column)
            return QStringLiteral("%1 is not found again").arg(pixelText(grid, image, row, column));
          if (tile.values[index] != static_cast<double>(place))
            return QStringLiteral("%1 is %2, not %3")
                .arg(pixelText(grid, image, row, column))
                .arg(tile.values[index])
                .arg(place);
        }
  return {};
}

}  // namespace

class TestPictureLayout : public QObject {
  Q_OBJECT
 private slots:
  void theShapeSaysWhatIsAnImage() {
    for (const Extents& shape :
         {Extents{64, 28, 28, 1}, {16, 32, 32, 3}, {1, 224, 224, 3}, {2, 8, 8, 4}, {32, 32, 3}})
      QCOMPARE(pictureOf(shape), PictureKind::images);
    for (const Extents& shape : {Extents{3, 3, 64, 128}, {5, 5, 3, 16}, {3, 3, 64, 3}, {7, 7, 3, 64}})
      QCOMPARE(pictureOf(shape), PictureKind::filters);
    for (const Extents& shape : {Extents{},
                                 {10},
                                 {784, 196},
                                 {4, 5, 6},
                                 {4, 2, 11, 11},
                                 {2, 2, 11, 11},
                                 {8, 14, 14, 64},
                                 {2, 3, 4, 5, 6},
                                 {5, 5, 3}})
      QCOMPARE(pictureOf(shape), PictureKind::slice);
  }

  void everyElementIsWhereItsImageSays_data() {
    QTest::addColumn<Extents>("shape");
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("row_axis");
    QTest::addColumn<int>("column_axis");
    QTest::addColumn<qint64>("images");
    const auto row = [](const char* name, Extents shape, PictureKind kind, int axis, qint64 images,
                        int columns = -1) {
      QTest::newRow(name) << std::move(shape) << static_cast<int>(kind) << axis
                          << (columns < 0 ? axis + 1 : columns) << images;
    };
    row("gray", {5, 6, 7, 1}, PictureKind::images, 2, 5);
    row("colours", {5, 6, 7, 3}, PictureKind::images, 2, 5);
    row("one colour picture", {6, 7, 3}, PictureKind::images, 1, 1);
    row("features", {3, 4, 5, 8}, PictureKind::images, 2, 24);
    row("filters", {3, 3, 4, 5}, PictureKind::filters, 2, 20);
    row("colour filters", {3, 3, 3, 5}, PictureKind::filters, 2, 5);
    row("one colour filter", {3, 3, 3, 1}, PictureKind::filters, 2, 1);
    row("tiles of the last axes", {4, 2, 5, 6}, PictureKind::tiles, 2, 8);
    row("tiles of the first axes", {5, 6, 4, 2}, PictureKind::tiles, 0, 8);
    row("tiles between", {3, 5, 6, 2}, PictureKind::tiles, 1, 6);
    row("six axes", {2, 1, 3, 4, 2, 2}, PictureKind::tiles, 2, 8);
    row("tiles of the first and the last axis", {5, 4, 6}, PictureKind::tiles, 0, 4, 2);
    row("tiles apart, others around", {3, 5, 2, 6, 4}, PictureKind::tiles, 1, 24, 3);
    row("tiles two apart", {5, 2, 3, 6}, PictureKind::tiles, 0, 6, 3);
    row("tiles apart, one index between", {2, 5, 1, 6, 3}, PictureKind::tiles, 1, 6, 3);
    row("six axes, apart", {2, 3, 2, 2, 4, 2}, PictureKind::tiles, 1, 16, 4);
  }
  void everyElementIsWhereItsImageSays() {
    QFETCH(Extents, shape);
    QFETCH(int, kind);
    QFETCH(int, row_axis);
    QFETCH(int, column_axis);
    QFETCH(qint64, images);
    QString text = QStringLiteral("op matmul(x:2x2) -> y:");
    QStringList extents;
    for (const std::int64_t extent : shape) extents << QString::number(extent);
    Bench bench(qPrintable(text + extents.join(QLatin1Char('x'))), shape);
    bench.start();
    QTRY_VERIFY(bench.model.tile());
    bench.model.setPicturing(true);
    bench.model.setShownAxes(row_axis, column_axis);
    bench.model.setPicture(static_cast<PictureKind>(kind));
    QTRY_VERIFY(bench.model.imageTile());
    QCOMPARE(bench.model.imageTile()->count, images);
    QCOMPARE(bench.model.images()->count, images);
    QCOMPARE(wrongPixel(*bench.model.imageTile()), QString());
    // A window in the middle: whole rows of the matrix come, and say which they are.
    if (images < 4) return;
    bench.model.setImageWindow(2, 1);
    QTRY_VERIFY(!bench.model.loading());
    const ImageTile& part = *bench.model.imageTile();
    QVERIFY(part.first <= 2 && part.first + part.count > 2);
    QCOMPARE(wrongPixel(part), QString());
  }

  void onlyPicturesTakeTheShapesWord() {
    Bench bench("op matmul(x:2x2) -> y:5x6x7x3", {5, 6, 7, 3});
    bench.start();
    QTRY_VERIFY(bench.model.tile());
    QVERIFY(!bench.model.images());  // numbers are those of a slice
    bench.model.setPicturing(true);
    QVERIFY(bench.model.images() && bench.model.images()->color);
    QTRY_VERIFY(bench.model.imageTile());
    bench.model.setPicture(PictureKind::slice);
    QVERIFY(!bench.model.images());
    bench.model.setPicture(PictureKind::automatic);
    QVERIFY(bench.model.images());
    bench.model.setPicturing(false);
    QVERIFY(!bench.model.images());
  }

  void whatCannotBeTilesSaysWhy() {
    const auto problem = [](PictureKind kind, const Extents& shape, int row, int column) {
      return layoutOf(kind, shape, row, column).problem;
    };
    QCOMPARE(problem(PictureKind::tiles, {3, 4}, 0, 1),
             QStringLiteral("Tiles need three to six axes, this shape has 2."));
    QCOMPARE(problem(PictureKind::tiles, {3, 4, 5}, 0, 2), QString());
    QCOMPARE(problem(PictureKind::tiles, {3, 4, 5}, -1, 2),
             QStringLiteral("Tiles need an axis of rows and one of columns."));
    QCOMPARE(problem(PictureKind::tiles, {1000, 2, 1000}, 0, 2),
             QStringLiteral(
                 "2,000,000 values of images that lie within each other are too many: at most 262,144."));
    QCOMPARE(problem(PictureKind::filters, {3, 4, 5}, 1, 2),
             QStringLiteral("Filters have four axes: height, width, inputs, outputs; this shape has 3."));
    QCOMPARE(problem(PictureKind::tiles, {2, 1000, 1000}, 1, 2),
             QStringLiteral("1,000,000 values are too many for one image: at most 262,144."));
    QCOMPARE(problem(PictureKind::images, {0, 8, 8, 3}, 2, 3),
             QStringLiteral("A tensor without elements has no images."));
  }
};

TAPEDECK_TEST(TestPictureLayout)
#include "tst_picture_layout.moc"
