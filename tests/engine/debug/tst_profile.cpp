// Where time went: lanes, sums, gaps and steps from records, against what one would find by hand.
#include <QtTest>
#include <random>

#include "tests/engine/debug/listed_events.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;
using namespace listed;

namespace {

/// "op[from-to]", or "3 ops[from-to]".
std::string text_of(const std::vector<LaneBox>& boxes, const ListedEvents& events) {
  std::string text;
  for (const LaneBox& box : boxes) {
    if (!text.empty()) text += ' ';
    text += box.count > 1 ? std::to_string(box.count) + " ops"
                          : events.known.at(events.all[box.record - 1].kind).op;
    text += '[' + std::to_string(box.from) + '-' + std::to_string(box.to) + ']';
  }
  return text;
}

/// Records that nest as those of real programs do, on several threads, with pauses.
void run_at_random(ListedEvents& events, std::mt19937& random, int count) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::array<std::int64_t, 2> now{0, 500};
  // Records come in the order of their begins across threads: the thread that is behind goes on.
  while (static_cast<int>(events.all.size()) < count) {
    const std::uint16_t thread = now[1] < now[0] ? 1 : 0;
    std::int64_t& at = now[thread];
    at += pick(4) == 0 ? pick(200000) : pick(300);
    const auto line = static_cast<std::uint32_t>(1 + pick(30));
    if (pick(5) != 0) {
      const std::int64_t time = 1 + (pick(20) == 0 ? pick(100000) : pick(500));
      events.add(pick(2) ? "matmul" : "add", at, time, line, 0, thread,
                 pick(9) == 0 ? ProfileRole::update : ProfileRole::forward);
      at += time;
      continue;
    }
    const std::size_t top = events.all.size();
    const std::int64_t begin = at;
    events.add("gradient", begin, 0, line, 0, thread, ProfileRole::backward, true);
    at += pick(50);
    for (int vjps = pick(40); vjps > 0; --vjps) {
      const std::size_t vjp = events.all.size();
      const std::int64_t vjp_begin = at;
      events.add("matmul VJP", vjp_begin, 0, line, 1, thread, ProfileRole::backward, true);
      for (int ops = pick(4); ops > 0; --ops) {
        const std::int64_t time = 1 + pick(400);
        events.add("matmul", at, time, line, 2, thread, ProfileRole::backward);
        at += time + pick(30);
      }
      at += 1 + pick(40);
      events.all[vjp].duration = at - vjp_begin;
    }
    at += 1;
    events.all[top].duration = at - begin;
  }
}

std::vector<LaneBox> boxes_by_hand(const ListedEvents& events, ProfileIndex::LaneKey lane, std::int64_t from,
                                   std::int64_t to, double pixel) {
  std::vector<LaneBox> boxes;
  std::int64_t last = -1;
  for (const ProfileEvent& event : events.all) {
    const std::int64_t end = event.start + event.duration;
    if (event.thread != lane.first || event.depth != lane.second || end <= from || event.start >= to)
      continue;
    const bool is_short = static_cast<double>(event.duration) < pixel;
    const auto bucket =
        static_cast<std::int64_t>(std::floor(static_cast<double>(event.start - from) / pixel));
    const LaneBox box{event.start, end, event.duration, event.number, event.duration, 1};
    if (is_short && last == bucket && !boxes.empty()) {
      LaneBox& sum = boxes.back();
      sum.to = std::max(sum.to, end);
      sum.busy += event.duration;
      ++sum.count;
      if (event.duration > sum.longest) {
        sum.longest = event.duration;
        sum.record = event.number;
      }
    } else {
      boxes.push_back(box);
    }
    last = is_short ? bucket : -1;
  }
  return boxes;
}

/// Class -> calls, total, self, max; thread -> gaps.
using Plain = std::map<std::string, std::vector<std::int64_t>>;

Plain plain(const Sums& sums, const ProfileClasses& classes) {
  Plain all;
  for (std::size_t i = 0; i < sums.kinds.size(); ++i) {
    const ProfileClass& of = classes.at(sums.kinds[i]);
    const ClassSums& one = sums.sums[i];
    if (one.calls > 0)
      all[of.op + ' ' + std::to_string(static_cast<int>(of.role)) + " line " + std::to_string(of.location)] =
          {static_cast<std::int64_t>(one.calls), one.total, one.self, one.max};
  }
  for (const auto& [key, gap] : sums.gaps)
    all["gap " + std::to_string(key.thread) + ' ' + std::to_string(key.from) + " to " +
        std::to_string(key.to)] = {static_cast<std::int64_t>(gap.count), gap.total, gap.max};
  return all;
}

Plain sums_by_hand(const ListedEvents& events, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> children(events.all.size() + 1, 0);
  std::map<std::uint16_t, std::vector<std::uint32_t>> path;
  std::map<std::uint16_t, const ProfileEvent*> before;
  Sums sums;
  for (const ProfileEvent& event : events.all) {
    auto& open = path[event.thread];
    open.resize(event.depth);
    if (event.depth > 0) children[open.back()] += event.duration;
    open.push_back(event.number);
    if (event.depth > 0) continue;
    const ProfileEvent* earlier = std::exchange(before[event.thread], &event);
    if (!earlier || event.start < from || event.start >= to) continue;
    const std::int64_t gap = event.start - earlier->start - earlier->duration;
    if (gap > 0)
      sums.gaps[{event.thread, events.known.at(earlier->kind).location, events.known.at(event.kind).location}]
          .add({1, gap, gap, event.number});
  }
  for (const ProfileEvent& event : events.all)
    if (event.start >= from && event.start < to)
      sums.of(event.kind)
          .add({1, event.duration, event.duration - children[event.number], event.duration, event.number, 0,
                0});
  return plain(sums, events.known);
}

}  // namespace

class TestProfile : public QObject {
  Q_OBJECT
 private slots:
  void a_lane_shows_short_records_of_one_pixel_as_one_box() {
    ListedEvents events;
    events.add("matmul", 0, 400);
    events.add("add", 410, 10);
    events.add("exp", 430, 10);
    events.add("tanh", 445, 5);
    events.add("log", 900, 100);
    ProfileIndex index(events);
    pass_all(index, events);
    QCOMPARE(text_of(index.boxes({0, 0}, 0, 1000, 1), events),
             std::string("matmul[0-400] add[410-420] exp[430-440] tanh[445-450] log[900-1000]"));
    QCOMPARE(text_of(index.boxes({0, 0}, 0, 1000, 100), events),
             std::string("matmul[0-400] 3 ops[410-450] log[900-1000]"));
    QCOMPARE(index.boxes({0, 0}, 0, 1000, 100)[1].busy, std::int64_t{25});
    QCOMPARE(index.boxes({0, 0}, 0, 1000, 100)[1].record, 2u);
    // Only what overlaps the span.
    QCOMPARE(text_of(index.boxes({0, 0}, 415, 431, 1), events), std::string("add[410-420] exp[430-440]"));
    QVERIFY(index.boxes({0, 1}, 0, 1000, 1).empty());
  }

  void what_is_levelled_down_is_what_one_finds_by_hand() {
    std::mt19937 random(20240611);
    ListedEvents events;
    run_at_random(events, random, 30000);
    ProfileIndex index(events);
    pass_all(index, events);
    const std::int64_t last = index.last();
    for (int round = 0; round < 60; ++round) {
      const auto a = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(last));
      const std::int64_t length = std::max<std::int64_t>(1, last >> (random() % 20));
      const double pixel = static_cast<double>(length) / (1 + random() % 1500);
      for (const auto& [key, lane] : index.lanes()) {
        const auto found = index.boxes(key, a, a + length, pixel);
        const auto wanted = boxes_by_hand(events, key, a, a + length, pixel);
        QCOMPARE(found.size(), wanted.size());
        QVERIFY(found == wanted);
      }
    }
  }

  void a_picture_of_everything_looks_at_few_records() {
    std::mt19937 random(3);
    ListedEvents events;
    run_at_random(events, random, 200000);
    ProfileIndex index(events);
    pass_all(index, events);
    events.visited = 0;
    std::size_t boxes = 0;
    for (const auto& [key, lane] : index.lanes())
      boxes += index.boxes(key, 0, index.last(), static_cast<double>(index.last()) / 1000).size();
    QVERIFY2(events.visited < 60000, qPrintable(QString::number(events.visited)));
    QVERIFY(boxes > 500 && boxes <= 6000);
  }

  void sums_of_any_span_are_those_found_by_hand() {
    std::mt19937 random(77);
    ListedEvents events;
    run_at_random(events, random, 40000);
    ProfileIndex index(events);
    pass_all(index, events);
    QVERIFY(plain(index.sums(0, INT64_MAX), events.known) == sums_by_hand(events, 0, INT64_MAX));
    for (int round = 0; round < 12; ++round) {
      const auto a = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(index.last()));
      const auto b = a + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(index.last()));
      const Plain found = plain(index.sums(a, b), events.known), wanted = sums_by_hand(events, a, b);
      for (const auto& [key, numbers] : wanted) {
        const auto same = found.find(key);
        QVERIFY2(same != found.end() && same->second == numbers, key.c_str());
      }
      QCOMPARE(found.size(), wanted.size());
    }
  }

  void an_index_that_grew_in_parts_is_as_one_made_at_once() {
    std::mt19937 random(5);
    ListedEvents whole;
    run_at_random(whole, random, 20000);
    ListedEvents growing;
    growing.known = whole.known;
    ProfileIndex parts(growing), at_once(whole);
    pass_all(at_once, whole);
    // What has not ended when the index comes by ends later.
    while (growing.all.size() < whole.all.size()) {
      const std::size_t more = std::min(whole.all.size(), growing.all.size() + 1 + random() % 900);
      growing.all.assign(whole.all.begin(), whole.all.begin() + static_cast<std::ptrdiff_t>(more));
      std::int64_t now = 0;
      for (const ProfileEvent& event : growing.all) now = std::max(now, event.start);
      for (ProfileEvent& event : growing.all)
        if (event.start + event.duration > now) {
          event.ended = false;
          event.duration = 0;
        }
      pass_all(parts, growing);
    }
    growing.all = whole.all;
    pass_all(parts, growing);
    QVERIFY(plain(parts.sums(0, INT64_MAX), whole.known) == plain(at_once.sums(0, INT64_MAX), whole.known));
    for (const auto& [key, lane] : at_once.lanes())
      QVERIFY(parts.boxes(key, 0, at_once.last(), 1000) == at_once.boxes(key, 0, at_once.last(), 1000));
  }

  void records_that_were_forgotten_are_left_out() {
    std::mt19937 random(6);
    ListedEvents events;
    run_at_random(events, random, 40000);
    ProfileIndex index(events);
    pass_all(index, events);
    events.kept = 8192 * 3;
    pass_all(index, events);
    std::uint64_t calls = 0;
    for (const ClassSums& one : index.sums(0, INT64_MAX).sums) calls += one.calls;
    QCOMPARE(calls, std::uint64_t{40000 - 8192 * 3} + 1 + (events.all.size() - 40000));
    std::uint32_t shown = 0;
    for (const auto& [key, lane] : index.lanes())
      for (const LaneBox& box : index.boxes(key, 0, index.last(), 1e5)) shown += box.count;
    QCOMPARE(std::uint64_t{shown}, calls);
  }

  void python_is_what_lies_between_ops_without_pauses() {
    ListedEvents events;
    ProfileIndex index(events);
    index.pauses().cells.add({0, 1000});  // the first cell begins at 1000
    events.add("matmul", 1200, 100, 10);  // 200 from the cell's begin
    events.add("add", 1800, 100, 12);     // 500 after it, of which 300 at the gate
    index.pauses().gate[0].add({1400, 1700});
    index.pauses().cells.add({2000, 5000});  // the cell goes on for 100 and ends
    events.add("exp", 5050, 10, 21);
    pass_all(index, events);
    const auto gaps = profile_gaps(index.sums(0, INT64_MAX), events.known, texts(), 0);
    std::map<std::string, std::int64_t> found;
    for (const auto& gap : gaps)
      found[std::to_string(gap.from_line.value_or(0)) + " to " + std::to_string(gap.to_line.value_or(0))] =
          gap.total_ns;
    const std::map<std::string, std::int64_t> wanted{
        {"0 to 10", 200}, {"10 to 12", 200}, {"12 to 0", 100}, {"0 to 21", 50}};
    QVERIFY(found == wanted);
    // Of one run: its own part alone.
    const auto first = profile_gaps(index.sums(1000, 2000), events.known, texts(), 0);
    std::int64_t sum = 0;
    for (const auto& gap : first) sum += gap.total_ns;
    QCOMPARE(sum, std::int64_t{500});
  }

  void the_time_after_the_last_op_counts_once_its_cell_has_ended() {
    ListedEvents events;
    ProfileIndex index(events);
    events.add("matmul", 100, 100, 10);
    pass_all(index, events);
    QVERIFY(index.sums(0, INT64_MAX).gaps.empty());
    index.pauses().cells.add({900, INT64_MAX});
    QCOMPARE(index.sums(0, INT64_MAX).gaps.begin()->second.total, std::int64_t{700});
    index.pauses().cells.set_last_end(2000);
    events.add("add", 2100, 10, 11);
    pass_all(index, events);
    const Sums sums = index.sums(0, INT64_MAX);
    QCOMPARE(sums.gaps.at({0, 10, 0}).total, std::int64_t{700});
    QCOMPARE(sums.gaps.at({0, 0, 11}).total, std::int64_t{100});
  }

  void an_op_that_waited_at_the_gate_is_drawn_where_it_ran() {
    ListedEvents events;
    ProfileIndex index(events);
    index.pauses().gate[0].add({105, 900});
    events.add("matmul", 100, 50);
    pass_all(index, events);
    QCOMPARE(text_of(index.boxes({0, 0}, 0, 2000, 1), events), std::string("matmul[900-945]"));
  }

  void what_runs_does_not_grow_while_it_waits_at_the_gate() {
    ListedEvents events;
    ProfileIndex index(events);
    index.pauses().gate[0].add({200, 300});
    events.add("f()", 100, 0, 1, 0, 0, ProfileRole::forward, true);
    events.all.back().ended = false;
    pass_all(index, events);
    const auto box = [&](std::int64_t now) { return index.open(now).at(0).second; };
    QCOMPARE(box(400).to, std::int64_t{400});
    QCOMPARE(box(400).busy, std::int64_t{200});
    index.pauses().waiting[0] = 450;
    QCOMPARE(box(9000).to, std::int64_t{450});
    QCOMPARE(box(9000).busy, std::int64_t{250});
    QCOMPARE(index.pauses().gate_within(0, 0, 9000), std::int64_t{100 + 8550});
    index.pauses().waiting.clear();
    QCOMPARE(box(9000).to, std::int64_t{9000});
  }

  void steps_take_the_time_from_the_last_update_to_their_own() {
    ListedEvents events;
    ProfileIndex index(events);
    index.pauses().cells.add({0, 100});
    for (int step = 0; step < 3; ++step) {
      const std::int64_t begin = 1000 * step;
      events.add("matmul", begin + 200, 100, 1);
      events.add("gradient", begin + 300, 100, 2, 0, 0, ProfileRole::backward, true);
      events.add("adam", begin + 450, 10, 3, 0, 0, ProfileRole::update);
      events.add("multiply", begin + 470, 10, 3);
      events.add("adam", begin + 490, 10, 3, 0, 0, ProfileRole::update);
      for (const std::uint32_t before : {2u, 0u})
        index.add_update(static_cast<std::uint32_t>(step + 1), events.newest() - before);
    }
    pass_all(index, events);
    QCOMPARE(index.steps().size(), std::size_t{3});
    QCOMPARE(index.steps()[0].from, std::int64_t{200});  // not what its cell did before its first op
    QCOMPARE(index.steps()[0].to, std::int64_t{500});
    QCOMPARE(index.steps()[0].python, std::int64_t{50 + 10 + 10});
    QCOMPARE(index.steps()[1].from, std::int64_t{500});
    QCOMPARE(index.steps()[1].duration, std::int64_t{1000});
    QCOMPARE(index.steps()[1].python, std::int64_t{700 + 50 + 10 + 10});
    QCOMPARE(index.steps()[2].record, 15u);
  }
};

TAPEDECK_TEST(TestProfile)
#include "tst_profile.moc"
