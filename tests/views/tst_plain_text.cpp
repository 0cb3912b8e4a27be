// What others wrote, in tool tips, labels and questions: shown as it is, and no file is read for it.
#include <QApplication>
#include <QPushButton>
#include <QTextDocument>
#include <QTimer>
#include <QtTest>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"
#include "tests/patience.h"
#include "tests/test_program.h"

using namespace tapedeck::inspector;

namespace {

const QString image_of_a_device = "<img src=\"file:///dev/zero\">";

/// As a tool tip would show it; it tells which resources that would have read.
class TipDocument : public QTextDocument {
 public:
  QStringList asked;

  QString shown(const QString& tip) {
    if (!Qt::mightBeRichText(tip)) return tip;
    setHtml(tip);
    return toPlainText();
  }

 protected:
  QVariant loadResource(int, const QUrl& name) override {
    asked << name.toString();
    return {};
  }
};

}  // namespace

class TestPlainText : public QObject {
  Q_OBJECT
 private slots:
  void tipsShowTextAsItIs_data() {
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing") << "";
    QTest::newRow("a name") << "W:0 float32 784×196";
    QTest::newRow("lines") << "first\nsecond";
    QTest::newRow("image") << image_of_a_device;
    QTest::newRow("image behind words") << "Open " + image_of_a_device + " & more";
    QTest::newRow("image in the second line") << "first <b>\n" + image_of_a_device;
    QTest::newRow("entity") << "a &lt; b";
    QTest::newRow("ampersand") << "a & b &amp; c";
    QTest::newRow("comparison") << "x < 3 and y > 4";
    QTest::newRow("spaces") << "<function f>\n    at  0x7f";
    QTest::newRow("XML") << "<?xml version=\"1.0\"?><p>";
    QTest::newRow("a tip") << plainTip(image_of_a_device);
  }
  void tipsShowTextAsItIs() {
    QFETCH(QString, text);
    TipDocument document;
    QCOMPARE(document.shown(plainTip(text)), text);
    QCOMPARE(document.asked, QStringList());
  }

  void labelsShowTextAsItIs() {
    QWidget parent;
    for (QLabel* label : {plainLabel(image_of_a_device, &parent), plainLabel(&parent)}) {
      QCOMPARE(label->textFormat(), Qt::PlainText);
      QCOMPARE(label->parentWidget(), &parent);
    }
    QCOMPARE(parent.findChild<QLabel*>()->text(), image_of_a_device);
  }

  void questionsShowTextAsItIs() {
    QString text;
    Qt::TextFormat format = Qt::AutoText;
    QTimer timer;
    connect(&timer, &QTimer::timeout, &timer, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box) return;
      text = box->text();
      format = box->textFormat();
      box->defaultButton()->click();
    });
    timer.start(20);
    QCOMPARE(ask(nullptr, "Question", image_of_a_device, QMessageBox::Save | QMessageBox::Cancel,
                 QMessageBox::Cancel),
             QMessageBox::Cancel);
    QCOMPARE(text, image_of_a_device);
    QCOMPARE(format, Qt::PlainText);
  }
};

TAPEDECK_TEST(TestPlainText)
#include "tst_plain_text.moc"
