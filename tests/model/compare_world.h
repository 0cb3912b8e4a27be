// Compare between a session and a reader of trace files, both fakes of the test.
#pragma once

#include <QTemporaryDir>
#include <QtTest>
#include <memory>

#include "inspector/model/compare/compare_rows.h"
#include "inspector/model/session/cell_names.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"

namespace tapedeck::test {

using namespace inspector;
using protocol::Agreement;

inline protocol::CellRun runOf(quint64 number, const char* cell, quint64 first, quint64 last) {
  protocol::CellRun run;
  run.number = number;
  run.cell = cell;
  run.first = first;
  run.last = last;
  run.end_ns = 2'000'000;
  run.calls = 0;
  return run;
}

inline protocol::Compared comparedOf(quint64 id, quint64 rows) {
  protocol::Compared answer;
  answer.comparison = id;
  answer.sentence = "All ops are the same on both sides.";
  answer.rows = answer.same = rows;
  answer.parts.resize(rows ? 1 : 0);
  return answer;
}

/// A process that reads a trace file, played by the test.
class FakeReader : public TraceReader {
 public:
  explicit FakeReader(FakeSource* source) : source_(source) { newest = this; }
  ~FakeReader() override {
    if (newest == this) newest = nullptr;
  }
  void open(const QString& file) override { path = file; }
  Source* source() override { return source_; }
  QString path;
  static inline FakeReader* newest = nullptr;

 private:
  FakeSource* source_;
};

class CompareWorld {
 protected:
  QTemporaryDir cache_;  ///< in place of the user's: sessions' traces are saved there
  FakeSource source_;
  FakeSource files_;  ///< what a process that reads trace files answers
  Session session_;
  CellNames cells_;
  std::unique_ptr<CompareModel> model_;

  /// Answers the oldest request of that kind that waits.
  template <class Message>
  Message answer(const protocol::Reply& reply) {
    return answer<Message>(source_, reply);
  }
  template <class Message>
  Message answer(FakeSource& source, const protocol::Reply& reply) {
    const auto found = std::ranges::find_if(source.waiting, [](const auto& asked) {
      return protocol::holds_alternative<Message>(asked.message);
    });
    if (found == source.waiting.end()) {
      QTest::qFail("nothing of the kind was asked", __FILE__, __LINE__);
      return {};
    }
    const auto asked = *found;
    source.waiting.erase(found);
    emit source.received(asked.id, reply);
    return protocol::get<Message>(asked.message);
  }
  template <class Message>
  bool asked() const {
    return std::ranges::any_of(
        source_.waiting, [](const auto& one) { return protocol::holds_alternative<Message>(one.message); });
  }
  void answerRuns(std::vector<protocol::CellRun> runs) {
    answer<protocol::GetCellRuns>(protocol::CellRuns{runs.size(), std::move(runs)});
  }
  void compareTwoRuns(quint64 rows = 250) {
    model_->setShown(true);
    answerRuns({runOf(1, "b", 1, 3), runOf(2, "b", 4, 6)});
    answer<protocol::MakeComparison>(comparedOf(5, rows));
  }
  static protocol::ComparisonRows page(quint64 first, std::size_t count, Agreement results = {}) {
    static const RecordsText text("op matmul(X:2x3, W:3x4) -> y:2x4 cell=b:3");
    protocol::ComparisonRows answer{5, first, {}};
    for (std::size_t i = 0; i < count; ++i) {
      protocol::ComparedRow& row = answer.rows.emplace_back();
      row.results = results;
      row.left = row.right = text.records[0];
      row.left->number = 1 + i;
      row.right->number = 4 + i;
    }
    return answer;
  }

  void begin() {
    qputenv("XDG_CACHE_HOME", QFile::encodeName(cache_.path()));
    source_.records = RecordsText(
                          "op a(X:2) -> y:2\nop b(y) -> z:2\nop c(z) -> u:2\n"
                          "op a(X) -> v:2\nop b(v) -> w:2\nop c(w) -> t:2")
                          .records;
    source_.status = {};
    source_.status.records = source_.status.finished = 6;
    source_.automatic = true;
    session_.setSource(&source_);
    session_.record(1);
    QTRY_VERIFY(session_.cachedRecord(1));
    source_.automatic = false;
    source_.waiting.clear();
    source_.asked.clear();
    cells_.set({{"b", "cell 2"}});
    files_.automatic = false;
    files_.waiting.clear();
    files_.asked.clear();
    model_ = std::make_unique<CompareModel>(&session_, &cells_,
                                            [this] { return std::make_unique<FakeReader>(&files_); });
  }
  void end() {
    model_.reset();
    session_.setLook({});
    session_.setSource(nullptr);
  }
};

}  // namespace tapedeck::test
