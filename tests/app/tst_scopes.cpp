// Scopes, as layers open them: Ops has a column for them where there are some.
#include <QHeaderView>
#include <QTableView>

#include "inspector/model/ops/records_model.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestScopes : public QObject, private SampleWindow {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  QTableView* table() const { return timeline(*window_)->findChild<QTableView*>(); }
  QStringList scopes() const {
    QStringList all;
    for (int row = 0; row < table()->model()->rowCount(); ++row) {
      const QString scope = table()->model()->index(row, RecordsModel::Scope).data().toString();
      if (all.isEmpty() || all.last() != scope) all << scope;
    }
    return all;
  }

 private slots:
  void initTestCase() { useOwnSettings(); }
  void cleanup() { window_.reset(); }

  void standInAColumnAndBeginWithALine() {
    openCells(folder_,
              {"import tapedeck as tf\nw = tf.Variable([[2.]])\nwith tf.GradientTape() as tape:\n"
               "    with tf.name_scope('model'):\n        with tf.name_scope('dense'):\n"
               "            y = tf.tanh(w @ w)\n        with tf.name_scope('head'):\n            y = y * 3.\n"
               "    loss = tf.reduce_sum(y)\ngradient = tape.gradient(loss, w)"});
    runByKey(0);
    showAllRecords();
    QTRY_VERIFY(scopes().contains("model/dense"));
    QTRY_VERIFY(!table()->isColumnHidden(RecordsModel::Scope));
    QTRY_VERIFY(table()->columnWidth(RecordsModel::Scope) > 40);
    const QStringList seen = scopes();
    QVERIFY2(seen.indexOf("model/dense") < seen.indexOf("model/head"), qPrintable(seen.join(", ")));
    // The VJPs go back through the layers that the ops went through.
    QVERIFY2(seen.lastIndexOf("model/head") > seen.indexOf("model/head"), qPrintable(seen.join(", ")));
    QVERIFY2(seen.lastIndexOf("model/dense") > seen.lastIndexOf("model/head"), qPrintable(seen.join(", ")));
    screenshot(window_.get(), "scopes");
  }

  void areLanesOfTheTape() {
    openCells(folder_, {"import tapedeck as tf\nx, w = tf.ones([2, 3]), tf.Variable(tf.ones([3, 3]))\n"
                        "with tf.GradientTape() as tape:\n    y = x\n    for i in range(3):\n"
                        "        with tf.name_scope(f'model/dense_{i}'):\n            y = tf.nn.relu(y @ w)\n"
                        "    loss = tf.reduce_sum(y)\ngradient = tape.gradient(loss, w)"});
    runByKey(0);
    showAllRecords();
    const auto lanes = [this] {
      QStringList all;
      if (!tape(*window_)->canvas()->laidOut()) return all;
      for (const auto& lane : tape(*window_)->canvas()->laidOut()->layout.lanes) all << lane.scope;
      return all;
    };
    QTRY_COMPARE(lanes(), (QStringList{"model/dense_0", "model/dense_1", "model/dense_2"}));
    window_->resize(2560, 1440);
    for (const bool dark : {false, true}) {
      tape(*window_)->fit();
      screenshotIn(dark ? inspector::Appearance::dark : inspector::Appearance::light, window_.get(),
                   dark ? "scopes-tape-dark" : "scopes-tape");
    }
    inspector::applyAppearance(inspector::Appearance::light);
  }

  void haveNoColumnWhereThereAreNone() {
    openCells(folder_, {"import tapedeck as tf\ntf.ones([2]) + 1."});
    runByKey(0);
    showAllRecords();
    QTRY_VERIFY(table()->model()->rowCount() >= 2);
    QTRY_VERIFY(table()->model()->index(0, 0).data(RecordsModel::HereRole).toBool());
    QVERIFY(table()->isColumnHidden(RecordsModel::Scope));
  }
};

TAPEDECK_TEST(TestScopes)
#include "tst_scopes.moc"
