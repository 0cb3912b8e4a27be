// Rows with headings beside rows that are written one after the other from all records: while groups grow,
// change at their end, are folded, and a filter leaves records out.
#include <QtTest>
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "inspector/model/ops/heading_rows.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

/// A program's groups, and what the session tells of them when it has made so many records.
class Story {
 public:
  explicit Story(unsigned seed) : random_(seed) {
    std::uint64_t at = 1;
    while (at < count) {
      at += pick(4);  // outside of cells
      protocol::RunGroup run;
      run.number = runs_.size() + 1;
      run.cell = pick(2) ? "a" : "b";
      run.first = at;
      std::uint64_t number = 0;
      for (int step = pick(8); step > 0; --step) {
        const std::uint64_t length = 1 + pick(15);
        steps_.push_back({at, at + length - 1, ++number});
        known_at_.push_back(at + length + pick(6));
        at += length;
      }
      at += pick(9);
      run.last = at - 1;
      runs_.push_back(run);
    }
    static const char* const names[] = {"",           "",     "model",        "model/dense",
                                        "model/norm", "head", "model/dense/x"};
    for (std::uint64_t record = 1; record <= count; record += 1 + pick(6))
      scopes_.emplace_back(record, names[pick(7)]);
  }
  static constexpr std::uint64_t count = 200;

  protocol::RecordGroups answer(const protocol::GetRecordGroups& asked, std::uint64_t made,
                                std::uint64_t most) const {
    protocol::RecordGroups answer;
    answer.total = made;
    answer.covered = std::min(made, asked.first - 1 + most);
    for (const protocol::RunGroup& run : runs(made))
      if (run.number >= asked.run) answer.runs.push_back(run);
    const auto known = steps(made);
    for (std::size_t i = asked.step - 1; i < known.size(); ++i) {
      answer.step_firsts.push_back(known[i].first);
      answer.step_lasts.push_back(known[i].last);
      answer.step_numbers.push_back(known[i].number);
    }
    for (std::size_t i = 0; i < scopes_.size(); ++i) {
      const std::uint64_t next = i + 1 < scopes_.size() ? scopes_[i + 1].first : count + 1;
      if (next <= asked.first || scopes_[i].first > answer.covered) continue;
      answer.scope_begins.push_back(std::max(scopes_[i].first, asked.first));
      answer.scope_places.push_back(answer.scopes.size());
      answer.scopes.push_back(scopes_[i].second);
    }
    return answer;
  }

  std::vector<protocol::RunGroup> runs(std::uint64_t made) const {
    std::vector<protocol::RunGroup> known;
    for (protocol::RunGroup run : runs_) {
      if (run.first > made + 1) break;
      if (*run.last > made) run.last.reset();
      known.push_back(run);
    }
    return known;
  }
  /// The newest one has had half of its updates at first.
  std::vector<GroupTree::Step> steps(std::uint64_t made) const {
    std::vector<GroupTree::Step> known;
    for (std::size_t i = 0; i < steps_.size() && known_at_[i] <= made; ++i) {
      known.push_back(steps_[i]);
      const bool newest = i + 1 == steps_.size() || known_at_[i + 1] > made;
      if (newest && made < known_at_[i] + 2) known.back().last = (steps_[i].first + steps_[i].last) / 2;
    }
    return known;
  }

  /// The names of the groups around the record, when so many are made.
  std::vector<std::string> chain(std::uint64_t record, std::uint64_t made, HeadingLevel level) const {
    std::vector<std::string> names;
    const protocol::RunGroup* in = nullptr;
    const auto all = runs(made);
    for (const auto& run : all)
      if (run.first <= record && record <= run.last.value_or(made)) in = &run;
    if (in) names.push_back("run " + std::to_string(in->number));
    if (level >= HeadingLevel::step) {
      std::string step;
      for (const auto& one : steps(made)) {
        if (one.first > record) break;
        const std::string which = std::to_string(one.first) + " " + std::to_string(one.number);
        step = record <= one.last ? "step " + which : !in || one.last >= in->first ? "after " + which : "";
      }
      if (!step.empty()) names.push_back(step);
    }
    if (level >= HeadingLevel::scope) {
      std::string scope;
      for (const auto& [first, name] : scopes_)
        if (first <= record) scope = name;
      for (std::size_t end = 0; !scope.empty() && end != std::string::npos;) {
        end = scope.find('/', end + (end != 0));
        names.push_back("scope " + scope.substr(0, end));
      }
    }
    return names;
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  std::mt19937 random_;
  std::vector<protocol::RunGroup> runs_;
  std::vector<GroupTree::Step> steps_;
  std::vector<std::uint64_t> known_at_;
  std::vector<std::pair<std::uint64_t, std::string>> scopes_;
};

/// A heading: its first record, and what it is of (0: run, 1: step, 2 and more: parts of a scope). A record:
/// its number and -1.
using Row = std::pair<std::uint64_t, int>;

/// What is shown, written down in one pass.
struct Expected {
  std::vector<Row> rows;
  std::map<std::uint64_t, int> row_of;  ///< of each record its own, or that of what hides it

  Expected(const Story& story, HeadingLevel level, std::uint64_t made,
           const std::vector<std::uint64_t>& listed, const std::set<Row>& folded) {
    std::map<std::uint64_t, std::vector<Row>> headings;  // of a record's groups, from the outside in
    std::vector<std::string> before;
    std::vector<Row> begun;
    for (std::uint64_t record = 1; record <= made; ++record) {
      const auto chain =
          level == HeadingLevel::none ? std::vector<std::string>{} : story.chain(record, made, level);
      std::size_t same = 0;
      while (same < chain.size() && same < before.size() && chain[same] == before[same]) ++same;
      begun.resize(same);
      int scopes = 0;
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const int kind = chain[i].starts_with("run") ? 0 : chain[i].starts_with("scope") ? 2 + scopes++ : 1;
        if (i >= same) begun.emplace_back(record, kind);
      }
      headings[record] = begun;
      before = chain;
    }
    std::vector<Row> open;
    for (const std::uint64_t record : listed) {
      const auto& groups = headings[record];
      std::size_t same = 0;
      while (same < groups.size() && same < open.size() && groups[same] == open[same]) ++same;
      int hidden_by = -1;
      for (std::size_t depth = 0; depth < groups.size() && hidden_by < 0; ++depth) {
        const Row& heading = groups[depth];
        if (depth >= same) rows.push_back(heading);
        if (folded.contains(heading))
          for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i] == heading) hidden_by = static_cast<int>(i);
      }
      open = groups;
      if (hidden_by < 0) rows.emplace_back(record, -1);
      row_of[record] = hidden_by < 0 ? static_cast<int>(rows.size()) - 1 : hidden_by;
    }
  }
};

/// What is under test, and what it is compared with.
class HeadingsBench {
 public:
  HeadingsBench(unsigned seed, HeadingLevel level, unsigned keeps)
      : story_(seed), level_(level), keeps_(keeps) {
    tree_.set_level(level);
  }
  std::set<Row> folded;
  std::uint64_t made = 0;

  void list(std::uint64_t upto) {
    const std::uint64_t from = made + 1;
    made = upto;
    for (std::uint64_t record = from; record <= upto; ++record)
      if (record % keeps_ == 0) listed_.push_back(record);
    took(rows_.update(tree_, listing(), from));
  }
  /// As much as the session tells at once.
  void ask(std::uint64_t most) {
    const std::uint64_t from = tree_.add(story_.answer(tree_.next_request(), made, most), made);
    took(rows_.update(tree_, listing(), from));
  }
  void ask_for_all() {
    do ask(50);
    while (tree_.covered() < made);
  }
  void drop(std::size_t place) {
    const std::uint64_t record = listed_[place];
    listed_.erase(listed_.begin() + static_cast<std::ptrdiff_t>(place));
    took(rows_.update(tree_, listing(), record));
  }
  void fold(int row, bool fold) {
    const std::uint32_t heading = rows_.heading_at(row);
    if (heading == HeadingRows::none) return;
    const Row is = row_at(row);
    if (fold)
      folded.insert(is);
    else
      folded.erase(is);
    took(rows_.set_folded(tree_, heading, fold));
  }
  RowChange fold_all(HeadingLevel kind, bool fold) { return took(rows_.set_all_folded(kind, fold)); }
  int row_count() const { return rows_.row_count(); }
  const HeadingRows& rows() const { return rows_; }
  const GroupTree& tree() const { return tree_; }
  std::size_t listed() const { return listed_.size(); }
  Row row_at(int row) const {
    const std::uint32_t heading = rows_.heading_at(row);
    if (heading == HeadingRows::none) return {listed_.at(rows_.position_at(row)), -1};
    const auto& nodes = tree_.nodes();
    const GroupTree::Node& node = nodes[rows_.node_of(heading)];
    if (node.kind != GroupTree::Kind::scope) return {node.first, node.kind != GroupTree::Kind::run};
    int kind = 2;
    for (std::uint32_t above = node.parent;
         above != GroupTree::none && nodes[above].kind == GroupTree::Kind::scope; above = nodes[above].parent)
      ++kind;
    return {node.first, kind};
  }

  void compare() const {
    const Expected expected(story_, level_, made, listed_, folded);
    QCOMPARE(rows_.row_count(), static_cast<int>(expected.rows.size()));
    for (int row = 0; row < rows_.row_count(); ++row)
      QCOMPARE(row_at(row), expected.rows[static_cast<std::size_t>(row)]);
    for (std::size_t place = 0; place < listed_.size(); ++place)
      QCOMPARE(rows_.row_of_position(static_cast<std::uint32_t>(place)), expected.row_of.at(listed_[place]));
    for (int row = 0; row < rows_.row_count(); ++row) {
      // Around a row is the nearest heading above that is less deep.
      const std::uint32_t heading = rows_.heading_at(row), around = rows_.heading_around(row);
      if (heading != HeadingRows::none) QCOMPARE(rows_.row_of(heading), row);
      if (around == HeadingRows::none) continue;
      QVERIFY(rows_.row_of(around) < row);
      if (heading != HeadingRows::none) QVERIFY(row_at(rows_.row_of(around)).second < row_at(row).second);
    }
  }

 private:
  Listing listing() const {
    return {static_cast<std::uint32_t>(listed_.size()),
            [this](std::uint32_t place) { return listed_.at(place); },
            [this](std::uint64_t record) {
              return static_cast<std::uint32_t>(std::ranges::lower_bound(listed_, record) - listed_.begin());
            }};
  }
  /// Views hear of it: rows above the change are those that they know.
  RowChange took(const RowChange& change) {
    std::vector<Row> now;
    for (int row = 0; row < rows_.row_count(); ++row) now.push_back(row_at(row));
    [&] {
      QCOMPARE(change.before, static_cast<int>(told_.size()));
      QCOMPARE(change.after, static_cast<int>(now.size()));
      QVERIFY(change.row >= 0 && change.row <= std::min(change.before, change.after));
      for (std::size_t row = 0; row < static_cast<std::size_t>(change.row); ++row)
        QCOMPARE(told_[row], now[row]);
    }();
    told_ = now;
    return change;
  }

  Story story_;
  HeadingLevel level_;
  unsigned keeps_;
  GroupTree tree_;
  HeadingRows rows_;
  std::vector<std::uint64_t> listed_;
  std::vector<Row> told_;
};

}  // namespace

class TestHeadings : public QObject {
  Q_OBJECT
 private slots:
  void rowsAreThoseThatOneWritesDown_data() {
    QTest::addColumn<int>("level");
    QTest::addColumn<unsigned>("keeps");
    for (const int level : {0, 1, 2, 3})
      for (const unsigned keeps : {1u, 3u})
        QTest::addRow("level %d, one of %u", level, keeps) << level << keeps;
  }
  void rowsAreThoseThatOneWritesDown() {
    QFETCH(const int, level);
    QFETCH(const unsigned, keeps);
    for (unsigned seed = 1; seed <= 5; ++seed) {
      HeadingsBench bench(seed, static_cast<HeadingLevel>(level), keeps);
      std::mt19937 random(seed);
      const auto pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
      while (bench.made < Story::count) {
        bench.list(std::min<std::uint64_t>(bench.made + 1 + pick(25), Story::count));
        if (QTest::currentTestFailed()) return;
        if (pick(3) == 0 && bench.row_count())
          bench.fold(static_cast<int>(pick(static_cast<unsigned>(bench.row_count()))), pick(3) > 0);
        bench.ask(1 + pick(40));
        if (QTest::currentTestFailed()) return;
        if (level != 0 && bench.tree().covered() < bench.made) bench.ask_for_all();
        if (level == 0) bench.ask(1000);
        bench.compare();
        if (QTest::currentTestFailed()) return;
        for (int i = 0; i < 3 && bench.row_count(); ++i) {
          bench.fold(static_cast<int>(pick(static_cast<unsigned>(bench.row_count()))), pick(2));
          bench.compare();
          if (QTest::currentTestFailed()) return;
        }
        if (keeps > 1 && bench.listed() && pick(3) == 0)
          bench.drop(pick(static_cast<unsigned>(bench.listed())));
        bench.compare();
        if (QTest::currentTestFailed()) return;
      }
      QVERIFY(level == 0 || bench.tree().nodes().size() > 3);
    }
  }

  void allOfAKindFoldAndSoDoThoseThatCome() {
    HeadingsBench bench(4, HeadingLevel::scope, 1);
    bench.list(150);
    bench.ask_for_all();
    const int unfolded = bench.row_count();
    bench.fold_all(HeadingLevel::step, true);
    if (QTest::currentTestFailed()) return;
    QVERIFY(bench.row_count() < unfolded);
    bench.list(Story::count);
    bench.ask_for_all();
    int steps = 0;
    for (int row = 0; row < bench.row_count(); ++row) {
      const std::uint32_t heading = bench.rows().heading_at(row);
      if (heading == HeadingRows::none) continue;
      const auto kind = bench.tree().nodes()[bench.rows().node_of(heading)].kind;
      const bool step = kind == GroupTree::Kind::step || kind == GroupTree::Kind::after;
      steps += step;
      QCOMPARE(bench.rows().folded(heading), step);
    }
    QVERIFY(steps > 10);
    bench.fold_all(HeadingLevel::step, false);
    bench.compare();
  }

  void aGroupStaysFoldedWhileItGrowsAndGetsItsName() {
    GroupTree tree;
    tree.set_level(HeadingLevel::step);
    HeadingRows rows;
    const auto all = [](std::uint32_t count) {
      return Listing{count, [](std::uint32_t place) { return std::uint64_t{place} + 1; },
                     [count](std::uint64_t record) {
                       return static_cast<std::uint32_t>(std::min<std::uint64_t>(record - 1, count));
                     }};
    };
    protocol::RecordGroups answer;
    answer.covered = answer.total = 10;
    answer.runs = {{1, "a", 1, 1, 1, {}, false}};
    answer.step_firsts = {1}, answer.step_lasts = {4}, answer.step_numbers = {1};
    rows.update(tree, all(10), tree.add(answer, 10));
    // The run, step 1 with four records, what is behind it with six.
    QCOMPARE(rows.row_count(), 13);
    const std::uint32_t behind = rows.heading_at(6);
    QCOMPARE(tree.nodes()[rows.node_of(behind)].kind, GroupTree::Kind::after);
    rows.set_folded(tree, behind, true);
    QCOMPARE(rows.row_count(), 7);
    QCOMPARE(rows.update(tree, all(20), 11).after, 7);  // what comes is behind the step, too
    answer.covered = answer.total = 20;
    answer.step_firsts = {1, 5}, answer.step_lasts = {4, 20}, answer.step_numbers = {1, 2};
    rows.update(tree, all(20), tree.add(answer, 20));
    QCOMPARE(rows.row_count(), 7);
    QCOMPARE(tree.nodes()[rows.node_of(rows.heading_at(6))].kind, GroupTree::Kind::step);
    QVERIFY(rows.folded(rows.heading_at(6)));
    QCOMPARE(rows.end_position(rows.heading_at(6)) - rows.first_position(rows.heading_at(6)), 16u);
  }

  void callsOfGraphFunctionsHaveHeadingsInSteps() {
    // 1: an op; 2: a call of f with 3; its branch 4 with 5; 6, in the scope "model"; another call of f, 7,
    // with 8.
    protocol::RecordGroups answer;
    answer.covered = answer.total = 9;
    answer.runs = {{1, "a", 1, 1, 1, {}, false}};
    answer.scopes = {"", "model"};
    answer.calls = {
        {2, 0, "f(x: float32 (3,))", 0}, {4, 2, "if line 7: true", 0}, {7, 0, "f(x: float32 (3,))", 0}};
    answer.scope_begins = {1, 2, 4, 6, 7, 9};
    answer.scope_places = {0, 0, 0, 1, 0, 0};
    answer.scope_calls = {0, 2, 4, 2, 7, 0};
    const auto headings = [&](HeadingLevel level) {
      GroupTree tree;
      tree.set_level(level);
      tree.add(answer, 9);
      std::string text;
      for (std::uint32_t at = 0; at < tree.nodes().size(); ++at) {
        const GroupTree::Node& node = tree.nodes()[at];
        if (node.kind == GroupTree::Kind::plain) continue;
        const std::string name = node.kind == GroupTree::Kind::call    ? tree.calls()[node.source].name
                                 : node.kind == GroupTree::Kind::scope ? tree.scope_part(node.source)
                                                                       : "cell";
        const std::uint64_t end = tree.end_of(at);
        text += std::string(2 * std::size_t{node.depth}, ' ') + name + ": " + std::to_string(node.first) +
                " to " + std::to_string(end - 1) + ", " +
                std::to_string(end - node.first - tree.calls_in(node.first, end)) + " ops\n";
      }
      return text;
    };
    QCOMPARE(headings(HeadingLevel::cell), std::string("cell: 1 to 9, 6 ops\n"));
    QCOMPARE(headings(HeadingLevel::step), std::string("cell: 1 to 9, 6 ops\n"
                                                       "  f(x: float32 (3,)): 2 to 6, 3 ops\n"
                                                       "    if line 7: true: 4 to 5, 1 ops\n"
                                                       "  f(x: float32 (3,)): 7 to 8, 1 ops\n"));
    QCOMPARE(headings(HeadingLevel::scope), std::string("cell: 1 to 9, 6 ops\n"
                                                        "  f(x: float32 (3,)): 2 to 6, 3 ops\n"
                                                        "    if line 7: true: 4 to 5, 1 ops\n"
                                                        "    model: 6 to 6, 1 ops\n"
                                                        "  f(x: float32 (3,)): 7 to 8, 1 ops\n"));
  }

  void scopesAroundACallAreNotRepeatedInIt() {
    protocol::RecordGroups answer;
    answer.covered = answer.total = 4;
    answer.scopes = {"model", "model/dense"};
    answer.calls = {{2, 0, "f()", 0}};
    answer.scope_begins = {1, 2, 3};
    answer.scope_places = {0, 0, 1};
    answer.scope_calls = {0, 2, 2};
    GroupTree tree;
    tree.set_level(HeadingLevel::scope);
    tree.add(answer, 4);
    std::string text;
    for (const GroupTree::Node& node : tree.nodes())
      if (node.kind != GroupTree::Kind::plain)
        text += std::to_string(node.depth) +
                (node.kind == GroupTree::Kind::call ? tree.calls()[node.source].name
                                                    : tree.scope_part(node.source)) +
                " ";
    QCOMPARE(text, std::string("0model 1f() 2dense "));
  }
};

TAPEDECK_TEST(TestHeadings)
#include "tst_headings.moc"
