// Histograms and images that a session keeps for the plots: positions, restarts, bounds.
#include <QtTest>

#include "engine/record/trace/pictures.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

protocol::Picture image(const std::string& name, double step, std::size_t bytes = 100) {
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.width = picture.height = 4;
  picture.pngs = {std::string(bytes / 2, 'x'), std::string(bytes - bytes / 2, 'y')};
  return picture;
}

std::vector<double> steps_of(const PictureStore& store, const std::string& name) {
  std::vector<double> steps;
  for (std::uint64_t first = 0;;) {
    const protocol::Pictures answer = store.read(first);
    for (const protocol::Picture& picture : answer.pictures)
      if (picture.name == name) steps.push_back(picture.step);
    if (answer.next == first) return steps;
    first = answer.next;
  }
}

}  // namespace

class TestPictures : public QObject {
  Q_OBJECT
 private slots:
  void a_reader_that_goes_on_gets_each_once() {
    PictureStore store;
    for (int step = 0; step < 5; ++step) store.add(image("a", step));
    protocol::Pictures answer = store.read(0);
    QCOMPARE(answer.pictures.size(), 5u);
    store.add(image("b", 9));
    answer = store.read(answer.next);
    QCOMPARE(answer.pictures.size(), 1u);
    QCOMPARE(answer.pictures[0].name, std::string("b"));
    QCOMPARE(answer.next, store.size());
    QVERIFY(store.read(answer.next).pictures.empty());
  }

  void an_answer_is_bounded_but_brings_at_least_one() {
    PictureStore store;
    for (int step = 0; step < 10; ++step) store.add(image("a", step, 5000));
    QCOMPARE(store.read(0, 1).pictures.size(), 1u);
    QCOMPARE(store.read(0, 16'000).pictures.size(), 3u);
    QCOMPARE(steps_of(store, "a").size(), 10u);
  }

  void what_was_before_a_restart_is_void() {
    PictureStore store;
    store.add(image("a", 1));
    store.add(image("b", 1));
    const std::uint64_t seen = store.read(0).next;
    store.restart("a");
    store.restart("unknown");
    store.add(image("a", 2));
    const protocol::Pictures later = store.read(seen);
    QCOMPARE(later.restarted, (std::vector<std::string>{"a"}));
    QCOMPARE(later.pictures.size(), 1u);
    QCOMPARE(steps_of(store, "a"), (std::vector<double>{2}));
    QCOMPARE(steps_of(store, "b"), (std::vector<double>{1}));
    for (int i = 0; i < 100; ++i) store.restart("a");
    QVERIFY(store.bytes() < 2000);
  }

  void pictures_that_are_made_again_go_on_or_start_over() {
    PictureStore store;
    for (const int step : {0, 5, 3}) store.add(image("a", step));
    store.reopen("unknown");
    store.reopen("a");
    store.add(image("a", 6));
    store.add(image("a", 2));
    QCOMPARE(steps_of(store, "a"), (std::vector<double>{0, 5, 3, 6, 2}));
    store.reopen("a");
    store.reopen("a", false);
    store.add(image("a", 1));
    QCOMPARE(steps_of(store, "a").size(), 6u);
    const std::uint64_t seen = store.read(0).next;
    store.reopen("a");
    store.add(image("a", 6));
    QCOMPARE(steps_of(store, "a"), (std::vector<double>{6}));
    QCOMPARE(store.read(seen).restarted, (std::vector<std::string>{"a"}));
  }

  void where_there_is_no_room_the_largest_thin_out_evenly_and_the_first_and_newest_of_each_stay() {
    PictureStore store(100'000);
    store.add(image("small", 0));
    for (int step = 0; step < 400; ++step) {
      QVERIFY(store.add(image("large", step, 2000)));
      QVERIFY(store.bytes() <= 100'000);
      QCOMPARE(steps_of(store, "large").back(), static_cast<double>(step));
    }
    const std::vector<double> steps = steps_of(store, "large");
    QVERIFY(steps.size() > 20);
    QCOMPARE(steps.front(), 0.0);
    // Up to where it was thinned out last they stand evenly, 16 apart; what came since is whole.
    std::size_t even = 1;
    while (even < steps.size() && steps[even] - steps[even - 1] == 16) ++even;
    QVERIFY2(even > 15, qPrintable(QString::number(even)));
    QCOMPARE(steps_of(store, "small").size(), 1u);
  }

  void pictures_are_numbered_with_those_that_had_to_go() {
    PictureStore store(100'000);
    for (int step = 0; step < 100; ++step) store.add(image("large", 10 * step, 2000));
    const protocol::Pictures answer = store.read(0, 1'000'000);
    QVERIFY(answer.pictures.size() < 50);
    QCOMPARE(answer.pictures.back().number, 99u);
    for (const protocol::Picture& picture : answer.pictures)
      QCOMPARE(static_cast<double>(picture.number), picture.step / 10);
    store.restart("large");
    store.add(image("large", 5));
    QCOMPARE(store.read(answer.next).pictures.at(0).number, 0u);
  }

  void one_that_is_too_large_is_not_kept() {
    PictureStore store(100'000);
    QVERIFY(!store.add(image("a", 0, 20'000)));
    QCOMPARE(store.size(), 0u);
    QCOMPARE(store.bytes(), 0u);
  }

  void many_names_are_bounded_too_and_one_that_was_lost_still_restarts() {
    PictureStore store(50'000);
    for (int i = 0; i < 1000; ++i) {
      store.add(image("name " + std::to_string(i), 0, 1000));
      store.add(image("name " + std::to_string(i), 1, 1000));
      QVERIFY(store.bytes() <= 50'000);
    }
    QCOMPARE(steps_of(store, "name 999").size(), 2u);
    QVERIFY(steps_of(store, "name 0").empty());
    const std::uint64_t seen = store.size();
    store.restart("name 0");
    QCOMPARE(store.read(seen).restarted, (std::vector<std::string>{"name 0"}));
  }
};

TAPEDECK_TEST(TestPictures)
#include "tst_pictures.moc"
