// The panels Why and What if while the session works: a question or a replay that takes long.
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/what_if/change_form.h"
#include "inspector/panels/what_if/what_if_view.h"
#include "inspector/panels/why/why_view.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

protocol::TensorInfo matrix(quint64 id, const char* name) {
  protocol::TensorInfo tensor;
  tensor.id = id;
  tensor.dtype = "float32";
  tensor.shape = {2, 3};
  tensor.name = name;
  return tensor;
}

protocol::Record opRecord() {
  protocol::Record record;
  record.number = 1;
  record.op = "cumsum";
  record.inputs = {matrix(10, "W:0")};
  record.outputs = {matrix(11, "")};
  return record;
}

/// The two panels beside something else that has the keyboard, with a session that answers nothing by itself.
struct Panels {
  test::FakeSource source{{opRecord()}};
  Session session;
  CellNames cells;
  WhyModel why{&session};
  WhatIfModel whatIf{&session};
  WhatIfActions actions{&whatIf, &why};
  QWidget window;
  QLineEdit* elsewhere = new QLineEdit(&window);
  WhyView* whyView = new WhyView(why, &window);
  WhatIfView* whatIfView = new WhatIfView(actions, cells, &window);

  Panels() {
    auto* layout = new QHBoxLayout(&window);
    for (QWidget* part : QList<QWidget*>{elsewhere, whyView, whatIfView}) layout->addWidget(part);
    window.resize(1200, 700);
    session.setSource(&source);
    session.record(1);
    QTRY_VERIFY(session.cachedRecord(1));
    source.automatic = false;
    source.waiting.clear();
    why.setSubject({1, matrix(10, "W:0"), {0, 2}});
  }
  bool show() {
    window.show();
    window.activateWindow();
    const bool active = QTest::qWaitForWindowActive(&window, tapedeck::patience);
    elsewhere->setFocus();
    return active;
  }
  void change(const char* number) {
    ChangeProblem problem;
    const ChangeSubject subject{matrix(10, "W:0"), {}, opRecord()};
    const ChangeDraft draft{ChangeKind::element, QStringLiteral("0, 2"), QString::fromUtf8(number), {}, {}};
    const auto made = changeOf(draft, subject, &problem);
    QVERIFY2(made, qPrintable(problem.sentence));
    whatIf.add(*made);
  }
  QStringList changes() const {
    QStringList texts;
    for (const BranchChange& change : whatIf.changes()) texts << change.text;
    return texts;
  }
  void select(int row) {
    QTreeWidget* list = whatIfView->changes();
    list->setFocus();
    list->setCurrentItem(list->topLevelItem(row));
  }
};

}  // namespace

class TestQuestions : public QObject {
  Q_OBJECT
 private slots:
  void aLongQuestionIsStoppedByEscInItsPanel() {
    Panels panels;
    QVERIFY(panels.show());
    QTreeWidget* list = panels.whyView->reasons();
    for (const bool byMouse : {true, false}) {
      panels.elsewhere->setFocus();
      panels.why.ask(protocol::Question::birth);
      QVERIFY(panels.why.asking());
      QVERIFY(panels.whyView->sentence()->text().contains("Cancel, or Esc in this panel, stops it."));
      // The question does not take the focus: Esc elsewhere is about something else.
      QCOMPARE(QApplication::focusWidget(), panels.elsewhere);
      QTest::keyClick(panels.elsewhere, Qt::Key_Escape);
      QVERIFY(panels.why.asking());
      QTRY_VERIFY(list->isVisible());
      if (byMouse)
        QTest::mouseClick(list->viewport(), Qt::LeftButton);
      else
        panels.whyView->setFocus();
      QTRY_COMPARE(QApplication::focusWidget(), list);
      QTest::keyClick(list, Qt::Key_Escape);
      QTRY_VERIFY(!panels.why.asking());
    }
  }

  void aLongReplayIsStoppedByEscOrItsButton() {
    Panels panels;
    QVERIFY(panels.show());
    panels.change("5");
    panels.whatIf.replay();
    QVERIFY(panels.whatIf.replaying());
    QVERIFY(panels.whatIfView->sentence()->text().contains("Cancel, or Esc in this panel, stops it."));
    panels.whatIfView->setFocus();
    QTRY_COMPARE(QApplication::focusWidget(), panels.whatIfView->changes());
    QTest::keyClick(panels.whatIfView->changes(), Qt::Key_Escape);
    QTRY_VERIFY(!panels.whatIf.replaying());
    // While a change is typed, Esc is about that; the button says what it stops.
    panels.whatIf.replay();
    panels.select(0);
    QTest::keyClick(panels.whatIfView->changes(), Qt::Key_F2);
    const ChangeForm* form = panels.whatIfView->form();
    QTRY_VERIFY(form->isAncestorOf(QApplication::focusWidget()));
    auto* button = panels.whatIfView->findChild<QToolButton*>("whatIfCancel");
    QTRY_VERIFY(button && button->isVisible());
    QTest::mouseClick(button, Qt::LeftButton);
    QVERIFY(!panels.whatIf.replaying());
    QVERIFY(form->isVisible());
    panels.whatIf.replay();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QTRY_VERIFY(!form->isVisible());
    QVERIFY(panels.whatIf.replaying());
  }

  void theChangeThatIsTypedStaysTheSameWhereOthersAreRemoved() {
    Panels panels;
    QVERIFY(panels.show());
    for (const char* number : {"1", "2", "3"}) panels.change(number);
    panels.select(1);
    QTest::keyClick(panels.whatIfView->changes(), Qt::Key_F2);
    ChangeForm* form = panels.whatIfView->form();
    QTRY_VERIFY(form->isVisible());
    panels.select(0);
    QTest::keyClick(panels.whatIfView->changes(), Qt::Key_Delete);
    QCOMPARE(panels.changes(), (QStringList{"W:0[0, 2] = 2", "W:0[0, 2] = 3"}));
    auto* numbers = form->findChild<QLineEdit*>("changeNumbers");
    QVERIFY(numbers && numbers->isVisible());
    QCOMPARE(numbers->text(), QString("2"));
    numbers->setFocus();
    numbers->setText("9");
    QTest::keyClick(numbers, Qt::Key_Return);
    QCOMPARE(panels.changes(), (QStringList{"W:0[0, 2] = 9", "W:0[0, 2] = 3"}));
    QVERIFY(!form->isVisible());
    // One that is removed itself is typed no longer.
    panels.select(0);
    QTest::keyClick(panels.whatIfView->changes(), Qt::Key_F2);
    QTRY_VERIFY(form->isVisible());
    panels.select(0);
    QTest::keyClick(panels.whatIfView->changes(), Qt::Key_Delete);
    QCOMPARE(panels.changes(), QStringList{"W:0[0, 2] = 3"});
    QVERIFY(!form->isVisible());
  }
};

TAPEDECK_TEST(TestQuestions)
#include "tst_questions.moc"
