// Convolutions and means of windows where a number is infinite or NaN.
#include <QtTest>

#include "tests/engine/ops/infinite_images.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

class InfiniteImagesTest : public QObject {
  Q_OBJECT

 private slots:
  void padding_contributes_nothing() {
    for (const std::string& name : image_ops) {
      const std::string wrong = wrong_beside_infinity({name}, Device{});
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }
};

TAPEDECK_TEST(InfiniteImagesTest)
#include "tst_infinite_images.moc"
