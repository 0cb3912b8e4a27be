// Time without a window: which span is asked for and when, and what a profile says in words.
#include <QTimer>
#include <QtTest>
#include <functional>
#include <map>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/runs/profile_text.h"
#include "inspector/model/session/source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::GetProfile;
using protocol::GetProfileFlame;
using protocol::GetProfileTotals;
using protocol::GetProfileTrack;
using protocol::ProfileGap;

namespace {

ProfileGap gap(std::uint32_t from, std::uint32_t to, std::int64_t total, const char* cell = "a") {
  ProfileGap one;
  one.from_cell = from ? cell : "";
  one.to_cell = to ? cell : "";
  one.from_line = protocol::if_there(from);
  one.to_line = protocol::if_there(to);
  one.count = 3;
  one.total_ns = total;
  one.max_ns = total;
  one.record = 4;
  return one;
}

QString named(const QString& id, quint64) {
  return id == "a" ? "cell 3" : "cell 4";
}

/// A session that answers by itself, and keeps what it was asked.
class ProfileSource : public Source {
 public:
  std::function<protocol::Reply(const protocol::Request&)> answer;
  std::vector<protocol::Request> asked;
  protocol::Status status;

  quint64 request(const protocol::Request& message, const QString& channel) override {
    const quint64 id = ++last_;
    asked.push_back(message);
    if (!channel.isEmpty()) newest_[channel] = id;
    QTimer::singleShot(0, this, [this, id, channel, message] {
      if (channel.isEmpty() || newest_[channel] == id) emit received(id, answer(message));
    });
    return id;
  }
  bool connected() const override { return true; }
  void sendStatus() { emit received(0, status); }

  template <class Message>
  std::vector<Message> askedFor() const {
    std::vector<Message> found;
    for (const protocol::Request& one : asked)
      if (const auto* message = protocol::get_if<Message>(&one)) found.push_back(*message);
    return found;
  }

 private:
  quint64 last_ = 0;
  std::map<QString, quint64> newest_;
};

}  // namespace

class TestProfileModel : public QObject {
  Q_OBJECT

  ProfileSource source_;
  Session session_;
  std::unique_ptr<ProfileModel> model_;
  protocol::Profile profile_;

  /// What the session answers.
  protocol::Reply answer(const protocol::Request& request) {
    if (const auto* get = protocol::get_if<GetProfile>(&request)) {
      protocol::Profile reply = profile_;
      reply.from_ns = get->from_ns;
      return reply;
    }
    if (protocol::holds_alternative<GetProfileTrack>(request)) return protocol::ProfileTrack{};
    if (protocol::holds_alternative<GetProfileFlame>(request)) return protocol::ProfileFlame{};
    if (protocol::holds_alternative<protocol::GetProfileSteps>(request)) return protocol::ProfileSteps{};
    if (const auto* get = protocol::get_if<GetProfileTotals>(&request)) {
      protocol::ProfileTotals reply;
      reply.rows_total = 500;
      reply.first = get->first;
      reply.rows.resize(std::min<std::size_t>(get->count, 500 - get->first));
      return reply;
    }
    if (protocol::holds_alternative<protocol::GetPeaks>(request)) {
      protocol::Peaks peaks;
      peaks.known = true;
      return peaks;
    }
    return source_.status;
  }

 private slots:
  void init() {
    source_.answer = [this](const protocol::Request& request) { return answer(request); };
    source_.status.records = 2;
    source_.asked.clear();
    profile_ = {};
    profile_.indexed = profile_.total = 2;
    profile_.first_ns = 0;
    profile_.last_ns = 9000;
    profile_.runs = {{1, "a", 0, 100, 4000, 0, 3, false}, {2, "b", 0, 5000, 9000, 0, 2, false}};
    session_.setSource(&source_);
    model_ = std::make_unique<ProfileModel>(&session_);
  }
  void cleanup() { session_.setSource(nullptr); }

  void a_hidden_panel_asks_nothing() {
    source_.sendStatus();
    nothingMayHappenFor(500);
    QVERIFY(source_.askedFor<GetProfile>().empty());
    model_->setActive(true);
    QTRY_VERIFY(model_->overview());
    model_->setActive(false);
    const std::size_t before = source_.askedFor<GetProfile>().size();
    source_.status.records = 3;
    source_.sendStatus();
    model_->setRun(0);
    nothingMayHappenFor(500);
    QCOMPARE(source_.askedFor<GetProfile>().size(), before);
  }

  void the_newest_run_is_shown_until_another_is_chosen() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    QVERIFY((model_->span() == TimeSpan{5000, 9000}));
    QTRY_COMPARE(source_.askedFor<GetProfile>().back().from_ns, std::int64_t{5000});
    QCOMPARE(model_->cell(), std::string("b"));
    model_->stepRun(-1);
    QVERIFY((model_->span() == TimeSpan{100, 4000}));
    profile_.runs.push_back({3, "a", 0, 10000, 12000, 0, 1, false});
    profile_.total = profile_.indexed = 3;
    source_.status.records = 3;
    source_.sendStatus();
    QTRY_COMPARE(model_->runs().size(), std::size_t{3});
    QCOMPARE(model_->run(), 0);
    model_->setRun(-1);
    QVERIFY((model_->span() == TimeSpan{0, 9000}));
  }

  void a_selection_narrows_what_the_figures_are_of() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    model_->setPage(ProfilePage::flame);
    model_->setSelection(TimeSpan{6000, 7000});
    QTRY_VERIFY(!source_.askedFor<GetProfileFlame>().empty() &&
                source_.askedFor<GetProfileFlame>().back().from_ns == 6000);
    QCOMPARE(source_.askedFor<GetProfileFlame>().back().to_ns, std::int64_t{7000});
    QCOMPARE(source_.askedFor<GetProfile>().back().to_ns, std::int64_t{7000});
    model_->setSelection(std::nullopt);
    QVERIFY((model_->span() == TimeSpan{5000, 9000}));
  }

  void the_track_is_asked_for_with_some_room_around_the_view() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    model_->setView({6000, 7000}, 500);
    QTRY_VERIFY(!source_.askedFor<GetProfileTrack>().empty() &&
                source_.askedFor<GetProfileTrack>().back().from_ns == 5500);
    QCOMPARE(source_.askedFor<GetProfileTrack>().back().to_ns, std::int64_t{7500});
    QCOMPARE(source_.askedFor<GetProfileTrack>().back().pixels, 1000u);
  }

  void an_index_under_way_is_asked_for_again() {
    profile_.total = 100;
    profile_.indexed = 10;
    model_->setActive(true);
    QTRY_VERIFY(source_.askedFor<GetProfile>().size() > 4);
    QCOMPARE(model_->indexed(), 0.1);
    profile_.indexed = 100;
    QTRY_COMPARE(model_->indexed(), 1.0);
  }

  void rows_come_page_by_page() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    model_->setPage(ProfilePage::totals);
    QTRY_COMPARE(model_->rows().size(), std::size_t{200});
    model_->fetchMoreRows();
    QTRY_COMPARE(model_->rows().size(), std::size_t{400});
    model_->fetchMoreRows();
    QTRY_COMPARE(model_->rows().size(), std::size_t{500});
    model_->setGroup(protocol::ProfileGroup::line);
    QTRY_COMPARE(source_.askedFor<GetProfileTotals>().back().group, protocol::ProfileGroup::line);
    QCOMPARE(source_.askedFor<GetProfileTotals>().back().first, 0u);
  }

  void a_moment_of_another_run_chooses_that_run() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    model_->setRunAt(6000);
    QCOMPARE(model_->run(), 1);
    model_->setRunAt(150);
    QCOMPARE(model_->run(), 0);
    QVERIFY((model_->view() == TimeSpan{100, 4000}));
    model_->setRunAt(4500);  // between the two
    QCOMPARE(model_->run(), -1);
    model_->setRunAt(150);
    QCOMPARE(model_->run(), -1);  // it shows all of them
  }

  void another_session_starts_over() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    session_.setSource(nullptr);
    ProfileSource other;
    other.answer = source_.answer;
    session_.setSource(&other);
    QVERIFY(!model_->overview());
    QVERIFY(model_->runs().empty());
    session_.setSource(nullptr);
  }

  void the_summary_names_the_share_and_the_lines() {
    protocol::Profile profile;
    profile.run_ns = 4'200'000'000;
    profile.python_ns = 2'982'000'000;
    profile.forward_ns = 504'000'000;
    profile.backward_ns = 588'000'000;
    profile.update_ns = 126'000'000;
    profile.calls = 12345;
    profile.gaps = {gap(10, 12, 2'600'000'000)};
    QCOMPARE(profileSentence(profile, "cell 3", named, "a"),
             QString::fromUtf8(
                 "Python took 71 % of cell 3’s 4.20 s between ops, most of it between lines 10 and 12 "
                 "(2.60 s). 12,345 ops (VJPs not counted): forward 12 %, backward 14 %, optimiser 3.0 %."));
    profile.steps = 120;
    profile.step_median_ns = 35'000'000;
    profile.step_max_ns = 80'100'000;
    profile.slowest_step = 17;
    profile.gate_ns = 5'000'000'000;
    QVERIFY(profileSentence(profile, "cell 3", named, "a")
                .endsWith(QString::fromUtf8(" 120 steps: median 35.0 ms; slowest 80.1 ms (17th). "
                                            "Time at the gate (5.00 s) is left out.")));
    QCOMPARE(profileSentence({}, "cell 3", named, "a"), QString("No op ran in cell 3."));
  }

  void figures_are_not_told_of_a_span_that_they_are_not_of() {
    model_->setActive(true);
    QTRY_VERIFY(model_->overviewFits());
    model_->setRun(0);
    QVERIFY(model_->overview() && !model_->overviewFits());
    QTRY_VERIFY(model_->overviewFits());
    model_->setSelection(TimeSpan{200, 300});
    QVERIFY(!model_->overviewFits());
    QTRY_VERIFY(model_->overviewFits());
    // Nobody answers any more: the span stays.
    session_.setSource(nullptr);
    model_->setRun(1);
    model_->setSelection(std::nullopt);
    QVERIFY((model_->run() == 0 && model_->span() == TimeSpan{200, 300} && model_->overviewFits()));
    QVERIFY(model_->waitingText().startsWith("The session has ended"));
  }

  void the_work_of_an_op_is_asked_for_once() {
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    QVERIFY(model_->peaks() || waitFor([&] { return model_->peaks() != nullptr; }, tapedeck::patience));
    for (int frame = 0; frame < 5; ++frame) QVERIFY(!model_->cost(2));
    QCOMPARE(source_.askedFor<protocol::GetProfileCost>().size(), std::size_t{1});
    QVERIFY(!model_->cost(1));
    QCOMPARE(source_.askedFor<protocol::GetProfileCost>().size(), std::size_t{2});
  }

  void lists_that_do_not_go_together_are_not_shown() {
    protocol::ProfileTrack track;
    track.lanes.resize(1);
    track.lanes[0].starts = {1};
    source_.answer = [this, track](const protocol::Request& request) -> protocol::Reply {
      if (protocol::holds_alternative<GetProfileTrack>(request)) return track;
      return answer(request);
    };
    model_->setActive(true);
    QTRY_COMPARE(model_->run(), 1);
    model_->setView({6000, 7000}, 500);
    QTRY_VERIFY(model_->problem().contains("do not match"));
    QVERIFY(!model_->track());
  }

  void places_of_gaps_are_said_as_people_say_them() {
    QCOMPARE(gapText(gap(10, 12, 1), named, "a"), QString("between lines 10 and 12"));
    QCOMPARE(gapText(gap(10, 12, 1), named), QString("between lines 10 and 12 of cell 3"));
    QCOMPARE(gapText(gap(12, 12, 1), named, "a"), QString("at line 12"));
    QCOMPARE(gapText(gap(0, 12, 1), named), QString("before cell 3 line 12"));
    QCOMPARE(gapText(gap(12, 0, 1), named, "a"), QString("after line 12"));
    ProfileGap across = gap(10, 12, 1);
    across.to_cell = "b";
    QCOMPARE(gapText(across, named, "a"), QString("between line 10 and cell 4 line 12"));
    ProfileGap file = gap(10, 12, 1, "");
    file.from_file = file.to_file = "/home/me/train.py";
    QCOMPARE(gapText(file, named), QString("between lines 10 and 12 of train.py"));
  }

  void time_at_the_gate_does_not_count() {
    const RunningTime running({{true, 0, 100, 300}, {true, 0, 400, 1400}});
    QCOMPARE(running.of(50), 50.);
    QCOMPARE(running.of(100), 100.);
    QCOMPARE(running.of(200), 100.);
    QCOMPARE(running.of(350), 150.);
    QCOMPARE(running.of(1500), 300.);
    for (const double time : {0., 60., 350., 1500., 9000.}) QCOMPARE(running.timeOf(running.of(time)), time);
    QCOMPARE(running.timeOf(100), 100.);
    QCOMPARE(running.timeOf(101), 301.);
    QCOMPARE(RunningTime().timeOf(7), 7.);
  }

  void the_newest_run_with_ops_is_shown_until_another_is_chosen() {
    profile_.runs.push_back({3, "b", 9, 9500, 9600, 0, 0, false});
    model_->setActive(true);
    QTRY_VERIFY(model_->overviewFits());
    QCOMPARE(model_->run(), 1);
    model_->setRun(2);
    QTRY_VERIFY(model_->overviewFits());
    QCOMPARE(model_->execution(), quint64{9});
    QCOMPARE(model_->run(), 2);
  }

  void amounts_have_prefixes() {
    QCOMPARE(amountText(2.1e9, "FLOP"), QString("2.10 GFLOP"));
    QCOMPARE(amountText(512, "B"), QString("512 B"));
    QCOMPARE(rateText(412.4, "FLOP"), QString("412 GFLOP/s"));
    QCOMPARE(rateText(0.0012, "B"), QString("1.20 MB/s"));
    QCOMPARE(shareText(0.7149), QString("71 %"));
    QCOMPARE(shareText(0.0042), QString("0.4 %"));
    QCOMPARE(shareText(0), QString("0 %"));
  }
};

TAPEDECK_TEST(TestProfileModel)
#include "tst_profile_model.moc"
