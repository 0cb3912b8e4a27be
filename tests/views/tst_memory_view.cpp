// The table of the memory panel without a session: pages of rows, and names that come later.
#include <QScrollBar>
#include <QTextDocument>
#include <QTreeWidget>
#include <QtTest>

#include "inspector/model/runs/memory_model.h"
#include "inspector/panels/memory/memory_view.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

protocol::MemoryState rowsOf(std::uint64_t first, std::uint64_t count, std::uint64_t total) {
  protocol::MemoryState state;
  state.first = first;
  state.total = total;
  for (std::uint64_t i = first; i < first + count; ++i) {
    protocol::MemoryRow row;
    row.name = "tensor " + std::to_string(i);
    row.holder = protocol::MemoryHolder::program;
    row.held_by = "the program";
    row.count = 1;
    row.bytes = 4000;
    row.tensor.id = i + 1;
    state.rows.push_back(row);
  }
  return state;
}

}  // namespace

class MemoryViewTest : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;

  /// Waits for a request of that kind, and answers it.
  template <class Message>
  bool answer(const protocol::Reply& reply) {
    const auto isOne = [](const auto& asked) { return protocol::holds_alternative<Message>(asked.message); };
    auto& waiting = source_.waiting;
    if (!waitFor([&] { return std::any_of(waiting.begin(), waiting.end(), isOne); }, tapedeck::patience))
      return false;
    const auto found = std::find_if(waiting.begin(), waiting.end(), isOne);
    const quint64 id = found->id;
    waiting.erase(found);
    emit source_.received(id, reply);
    return true;
  }

 private slots:
  void whatIsThereStaysWhenFurtherRowsOrNamesCome() {
    for (quint64 number = 1; number <= 5; ++number) {
      source_.records.emplace_back();
      source_.records.back().number = number;
      source_.records.back().op = "matmul";
    }
    source_.status.records = source_.status.finished = 5;
    session_.setSource(&source_);
    source_.sendStatus();
    QTRY_COMPARE(session_.recordCount(), RecordNumber{5});
    source_.automatic = false;
    source_.waiting.clear();
    MemoryView view(session_);
    view.resize(500, 400);
    static_cast<QWidget&>(view).show();
    QVERIFY(answer<protocol::GetMemoryState>(rowsOf(0, 200, 250)));
    QTreeWidget* table = view.table();
    QCOMPARE(table->topLevelItemCount(), 200);
    QTreeWidgetItem* first = table->topLevelItem(0);
    table->setCurrentItem(table->topLevelItem(7));

    QVERIFY(answer<protocol::FindNames>(protocol::FoundNames{{{1, {}, "history[0]", "history", 24}}, true}));
    QCOMPARE(table->topLevelItem(0), first);
    QCOMPARE(first->text(4), QString("history[0]"));
    QVERIFY(first->toolTip(4).startsWith("history[0]\n"));
    QCOMPARE(table->topLevelItem(1)->text(4), QString("the program"));

    QScrollBar* bar = table->verticalScrollBar();
    QTRY_VERIFY(bar->maximum() > 0);
    bar->setValue(bar->maximum());
    protocol::MemoryState more = rowsOf(200, 50, 250);
    more.rows[48].name = "<img src=\"file:///dev/zero\">";
    QVERIFY(answer<protocol::GetMemoryState>(more));
    QCOMPARE(table->topLevelItemCount(), 250);
    // A name is text, also in a tool tip.
    const QString named = QString::fromStdString(more.rows[48].name);
    QCOMPARE(table->topLevelItem(248)->text(0), named);
    QTextDocument tip;
    tip.setHtml(table->topLevelItem(248)->toolTip(0));
    QVERIFY2(tip.toPlainText().startsWith(named + '\n'), qPrintable(tip.toPlainText()));
    QCOMPARE(table->topLevelItem(0), first);
    QCOMPARE(table->topLevelItem(249)->text(0), QString("tensor 249"));
    QCOMPARE(table->indexOfTopLevelItem(table->currentItem()), 7);
    session_.setSource(nullptr);
  }
};

TAPEDECK_TEST(MemoryViewTest)
#include "tst_memory_view.moc"
