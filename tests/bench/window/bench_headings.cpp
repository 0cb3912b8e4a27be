// What headings in Ops cost with a million records: on the UI thread to take in the session's groups, to fold
// and unfold, to choose another level and to scroll; in the session's process to find them. One line of JSON;
// milliseconds, medians and the longest.
#include <QApplication>
#include <QElapsedTimer>
#include <QScrollBar>
#include <QTableView>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "engine/debug/describe.h"
#include "engine/debug/group_index.h"
#include "engine/ops/core/ops.h"
#include "engine/optim/apply.h"
#include "engine/record/trace/scope.h"
#include "engine/tape/tape.h"
#include "engine/tape/variable.h"
#include "inspector/panels/ops/timeline_view.h"

using namespace tapedeck;
using inspector::HeadingLevel;
using inspector::RecordsModel;

namespace {

constexpr int record_count = 1'000'000;
constexpr int rounds = 15;

/// A session in this process: what it takes to answer is not the UI's.
class Here : public inspector::Source {
 public:
  explicit Here(const Recorder& recorder) : recorder_(recorder), index_(recorder) {
    status_ = debug::describe_status(recorder);
  }
  quint64 request(const protocol::Request& message, const QString&) override {
    const quint64 id = ++last_;
    QElapsedTimer clock;
    clock.start();
    protocol::Reply reply = answer(message);
    const bool groups = protocol::holds_alternative<protocol::GetRecordGroups>(message);
    if (groups) index_ms.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
    QTimer::singleShot(0, this, [this, id, groups, reply = std::move(reply)] {
      QElapsedTimer taking;
      taking.start();
      emit received(id, reply);
      if (groups) take_ms.push_back(static_cast<double>(taking.nsecsElapsed()) / 1e6);
    });
    return id;
  }
  bool connected() const override { return true; }
  void say() { emit received(0, status_); }
  std::vector<double> index_ms, take_ms;

 private:
  protocol::Reply answer(const protocol::Request& message) {
    if (const auto* get = protocol::get_if<protocol::GetRecordGroups>(&message)) return index_.read(*get);
    if (const auto* get = protocol::get_if<protocol::GetRecords>(&message)) {
      protocol::Records page;
      page.total = recorder_.trace().newest();
      for (std::uint64_t number = get->first; number < get->first + get->count && number <= page.total;
           ++number)
        page.records.push_back(*debug::describe(recorder_, static_cast<std::uint32_t>(number), false));
      return page;
    }
    return status_;
  }
  const Recorder& recorder_;
  debug::GroupIndex index_;
  protocol::Status status_;
  quint64 last_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}
double longest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

/// With what is painted for it.
template <class Work>
double timed(QWidget& widget, Work work) {
  QElapsedTimer clock;
  clock.start();
  work();
  widget.repaint();
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// Frames at 200 places of the table.
std::vector<double> scrolled(inspector::TimelineView& view) {
  std::vector<double> frames;
  QScrollBar* bar = view.table()->verticalScrollBar();
  for (int i = 0; i < 200; ++i) {
    frames.push_back(timed(view, [&] { bar->setValue(i * (bar->maximum() / 200)); }));
    QCoreApplication::processEvents();
  }
  return frames;
}

double sum(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values) all += value;
  return all;
}

/// What the UI thread does at a stretch until the headings are there.
void choose(inspector::TimelineView& view, HeadingLevel next, std::vector<double>& turns) {
  turns.push_back(timed(view, [&] { view.model()->setHeadingLevel(next); }));
  while (view.model()->headingLevel() != next)
    turns.push_back(timed(view, [] { QCoreApplication::processEvents(); }));
}

/// Steps of 25 ops in four scopes, in five cells.
void run_program(Recorder& recorder) {
  Variable weight(Tensor::scalar(1.5), "w");
  const Tensor data = Tensor::scalar(2.5);
  for (int cell = 0; cell < 5; ++cell) {
    recorder.begin_cell("cell-" + std::to_string(cell), static_cast<std::uint32_t>(cell + 1));
    while (recorder.trace().newest() < static_cast<std::uint32_t>(record_count / 5 * (cell + 1))) {
      Tape tape;
      tape.start();
      Tensor value = ops::multiply(weight.read(), data);
      for (const char* layer : {"encoder", "middle", "decoder", "head"}) {
        const NameScope model("model"), scope(layer);
        value = ops::tanh(ops::add(value, data));
      }
      tape.stop();
      const Tensor slope = tape.gradient(std::span(&value, 1), std::span<const Variable>(&weight, 1))[0];
      const Tensors others{slope, Tensor::scalar(0.1, DType::float64)};
      apply_update(*Registry::instance().find("gradient_descent"), {&weight, 1}, others);
    }
    recorder.end_cell();
  }
}

int row_of_first(const RecordsModel& rows, int depth) {
  for (int row = 0; row < rows.rowCount(); ++row)
    if (const auto heading = rows.headingAt(row); heading && heading->depth == depth) return row;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  QCoreApplication::setOrganizationName("tapedeck-bench");
  RecorderOptions options;
  options.keep_values = false;
  Recorder recorder(options);
  recorder.set_recording(true);
  run_program(recorder);
  recorder.set_recording(false);

  inspector::Session session;
  Here here(recorder);
  session.setSource(&here);
  inspector::TimelineView view(session);
  view.resize(600, 800);
  view.show();
  here.say();
  RecordsModel& rows = *view.model();
  QElapsedTimer clock;
  clock.start();
  // The last group is there.
  const auto known = [&] {
    const QList<int> around = rows.headingsAround(rows.rowCount() - 1);
    return rows.listedCount() >= record_count && around.size() == 2 &&
           rows.headingAt(around[0])->name == "Cell [5]" && !here.index_ms.empty() &&
           !session.asking("ops/groups");
  };
  while (!known() && clock.elapsed() < 60'000) QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
  if (!known()) return std::fprintf(stderr, "no groups came\n"), 1;

  std::vector<double> fold, unfold, fold_all, unfold_all, paged_folded;
  const int cell = row_of_first(rows, 0), step = row_of_first(rows, 1);
  for (int round = 0; round < rounds; ++round) {
    fold.push_back(timed(view, [&] { rows.setFolded(cell, true); }));
    unfold.push_back(timed(view, [&] { rows.setFolded(cell, false); }));
    fold_all.push_back(timed(view, [&] { rows.setAllFolded(step, true); }));
    // One step among forty thousand that are folded.
    fold.push_back(timed(view, [&] { rows.setFolded(step, false); }));
    unfold.push_back(timed(view, [&] { rows.setFolded(step, true); }));
    paged_folded.push_back(timed(view, [&] {
      view.table()->verticalScrollBar()->setValue(round * view.table()->verticalScrollBar()->maximum() /
                                                  rounds);
    }));
    unfold_all.push_back(timed(view, [&] { rows.setAllFolded(step, false); }));
  }
  const std::vector<double> scroll = scrolled(view);
  const std::vector<double> take = here.take_ms;
  std::vector<double> to_scopes, to_steps, to_none;  // each turn of the event loop by itself
  choose(view, HeadingLevel::scope, to_scopes);
  choose(view, HeadingLevel::none, to_none);
  const std::vector<double> flat = scrolled(view);
  choose(view, HeadingLevel::step, to_steps);
  std::printf(
      "{\"bench\": \"headings\", \"records\": %u, \"rows\": %d, \"answers\": %zu, \"index_ms\": %.1f, "
      "\"longest_answer_ms\": %.1f, \"take_ms\": %.2f, \"longest_take_ms\": %.2f, \"fold_ms\": %.2f, "
      "\"longest_fold_ms\": %.2f, \"unfold_ms\": %.2f, \"longest_unfold_ms\": %.2f, \"fold_all_ms\": %.2f, "
      "\"unfold_all_ms\": %.2f, \"scroll_ms\": %.2f, \"longest_scroll_ms\": %.2f, \"scroll_folded_ms\": "
      "%.2f, \"scroll_without_headings_ms\": %.2f, \"to_scopes_ms\": %.1f, "
      "\"longest_to_scopes_ms\": %.1f, \"to_none_ms\": %.1f, \"to_steps_ms\": %.1f, "
      "\"longest_to_steps_ms\": %.1f}\n",
      recorder.trace().newest(), rows.rowCount(), take.size(), sum(here.index_ms), longest(here.index_ms),
      median(take), longest(take), median(fold), longest(fold), median(unfold), longest(unfold),
      longest(fold_all), longest(unfold_all), median(scroll), longest(scroll), median(paged_folded),
      median(flat), sum(to_scopes), longest(to_scopes), sum(to_none), sum(to_steps), longest(to_steps));
  return 0;
}
