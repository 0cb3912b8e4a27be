// Scopes, as layers open them: Ops has a column for them where there are some.
#include <QHeaderView>
#include <QTableView>

#include "inspector/model/records_model.h"
#include "tests/app/sample_window.h"

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

  void haveNoColumnWhereThereAreNone() {
    openCells(folder_, {"import tapedeck as tf\ntf.ones([2]) + 1."});
    runByKey(0);
    showAllRecords();
    QTRY_VERIFY(table()->model()->rowCount() >= 2);
    QTRY_VERIFY(table()->model()->index(0, 0).data(RecordsModel::HereRole).toBool());
    QVERIFY(table()->isColumnHidden(RecordsModel::Scope));
  }
};

QTEST_MAIN(TestScopes)
#include "tst_scopes.moc"
