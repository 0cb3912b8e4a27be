#include "inspector/panels/time/track_canvas.h"

#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/panels/time/time_axis.h"

namespace tapedeck::inspector {

namespace {

constexpr double title_height = 18, row_height = 20, steps_height = 64, mark_distance = 110;

}  // namespace

TrackCanvas::TrackCanvas(ProfileModel* model, CellName name, QWidget* parent)
    : CanvasWidget(parent), model_(model), name_(std::move(name)) {
  exposeParts();
  setAccessibleName(QStringLiteral("Track of the ops over time"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  for (const auto signal :
       {&ProfileModel::trackChanged, &ProfileModel::stepsChanged, &ProfileModel::viewChanged,
        &ProfileModel::spanChanged, &ProfileModel::costsChanged})
    connect(model, signal, this, [this] {
      describe();
      requestFrame();
    });
  // What is shown is asked for in as many pixels as there are here.
  connect(model, &ProfileModel::viewChanged, this,
          [this] { model_->setView(model_->view(), static_cast<int>(trackWidth())); });
  connect(model->session(), &Session::cursorChanged, this, [this] {
    describe();
    requestFrame();
  });
  connect(model->session(), &Session::recordsChanged, this, [this] { requestFrame(); });
}

double TrackCanvas::trackWidth() const {
  return std::max(1.0, canvasSize().width());
}

double TrackCanvas::xOf(double time) const {
  const auto [from, to] = runningView();
  return left_edge + (model_->running().of(time) - from) / (to - from) * (trackWidth() - left_edge);
}

double TrackCanvas::timeAt(double x) const {
  const auto [from, to] = runningView();
  return model_->running().timeOf(from + (x - left_edge) / (trackWidth() - left_edge) * (to - from));
}

std::pair<double, double> TrackCanvas::runningView() const {
  const TimeSpan view = model_->view();
  const double from = model_->running().of(static_cast<double>(view.from));
  return {from, std::max(from + 1, model_->running().of(static_cast<double>(view.to)))};
}

std::vector<TrackCanvas::Row> TrackCanvas::rows() const {
  std::vector<Row> rows;
  const protocol::ProfileTrack* track = model_->track();
  if (!track) return rows;
  double top = axis_height - scroll_;
  for (std::size_t i = 0; i < track->lanes.size(); ++i) {
    const protocol::ProfileLane& lane = track->lanes[i];
    const QString device = QString::fromStdString(lane.device.value_or(""));
    if (rows.empty() || rows.back().thread != lane.thread || rows.back().device != device) {
      rows.push_back({device, lane.thread, 0, top, -1});
      top += title_height;
    }
    rows.push_back({device, lane.thread, lane.depth, top, static_cast<int>(i)});
    top += row_height;
  }
  return rows;
}

/// Of its thread.
QString TrackCanvas::nameOf(const Row& row) const {
  return row.device.isEmpty() ? QStringLiteral("thread %1").arg(row.thread)
                              : QStringLiteral("%1, what thread %2 called").arg(row.device).arg(row.thread);
}

std::vector<TrackCanvas::Row> TrackCanvas::lanes() const {
  std::vector<Row> all = rows();
  std::erase_if(all, [](const Row& row) { return row.lane < 0; });
  return all;
}

int TrackCanvas::accessiblePartCount() const {
  return model_->view().length() > 0 ? static_cast<int>(lanes().size()) : 0;
}

AccessiblePart TrackCanvas::accessiblePart(int index) const {
  const Row row = lanes()[static_cast<std::size_t>(index)];
  const protocol::ProfileLane& lane = model_->track()->lanes[static_cast<std::size_t>(row.lane)];
  quint64 count = 0;
  double busy = 0;
  for (const std::uint64_t ops : lane.counts) count += ops;
  for (const double time : lane.busy) busy += time;
  const QString value = QStringLiteral("%1 ops in this part of the run, %2 of work")
                            .arg(countText(count), durationText(static_cast<qint64>(busy)));
  const QRectF rect(0, row.top * letters(), width(), row_height * letters());
  return {QStringLiteral("%1, depth %2").arg(nameOf(row)).arg(row.depth), value, rect, QAccessible::ListItem};
}

double TrackCanvas::rowsHeight() const {
  const std::vector<Row> all = rows();
  return all.empty() ? 0 : all.back().top + row_height - axis_height + scroll_;
}

double TrackCanvas::stepsTop() const {
  const bool there = model_->steps() && model_->steps()->steps > 0;
  return canvasSize().height() - (there ? steps_height : 0);
}

// ---- drawing

void TrackCanvas::drawAxis(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  const double width = painter.size().width();
  painter.fill(QRectF(0, 0, width, axis_height), theme.panel);
  // Times count from where the run began, which is what a reader compares, and without those at the gate.
  const double zero = model_->running().of(static_cast<double>(model_->whole().from));
  const auto [from, to] = runningView();
  for (const TimeMark& mark : timeMarks(from - zero, to - zero, width, mark_distance)) {
    const double x = left_edge + (mark.at + zero - from) / (to - from) * (width - left_edge);
    painter.line({x, axis_height - 5}, {x, axis_height}, theme.axis);
    painter.line({x, axis_height}, {x, stepsTop()}, theme.grid);
    painter.text({x + 4, 4}, mark.text, 11, theme.faintText);
  }
  painter.line({0, axis_height}, {width, axis_height}, theme.border);
}

void TrackCanvas::drawPauses(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  for (const protocol::ProfilePause& pause : model_->track()->pauses) {
    const double from = std::max(0.0, xOf(static_cast<double>(pause.from_ns)));
    const double to = std::min(painter.size().width(), xOf(static_cast<double>(pause.to_ns)));
    if (to < from || (to <= from && !pause.at_gate)) continue;  // one that is left out has no width
    QRectF rect(from, axis_height, std::max(1.0, to - from), stepsTop() - axis_height);
    if (pause.at_gate) {  // in its thread's rows alone
      double top = 1e9, bottom = 0;
      for (const Row& row : rows())
        if (row.thread == pause.thread && row.lane >= 0 && row.device.isEmpty()) {
          top = std::min(top, row.top);
          bottom = std::max(bottom, row.top + row_height);
        }
      if (bottom <= top) continue;
      rect = QRectF(rect.left(), top, rect.width(), bottom - top);
    }
    painter.hatch(rect, theme.grid, pause.at_gate ? 5 : 9);
    if (rect.width() > 60)
      painter.textIn(rect, pause.at_gate ? QStringLiteral("at the gate") : QStringLiteral("nothing recorded"),
                     11, theme.faintText);
  }
}

void TrackCanvas::drawLane(CanvasPainter& painter, const Row& row) {
  const protocol::ProfileTrack& track = *model_->track();
  const auto index = static_cast<std::size_t>(row.lane);
  const protocol::ProfileLane& lane = track.lanes[index];
  const double zero = static_cast<double>(track.from_ns);
  const double left = timeAt(0) - zero, right = timeAt(painter.size().width()) - zero;
  const RecordNumber cursor = model_->session()->cursor();
  const auto first =
      std::partition_point(lane.ends.begin(), lane.ends.end(), [left](double end) { return end < left; }) -
      lane.ends.begin();
  for (auto i = static_cast<std::size_t>(first); i < lane.starts.size() && lane.starts[i] <= right; ++i) {
    const double from = xOf(lane.starts[i] + zero), to = xOf(lane.ends[i] + zero);
    const protocol::ProfileName& name =
        track.names[std::min<std::size_t>(lane.names[i], track.names.size() - 1)];
    OpBox box;
    const double shown_from = std::max(from, -2.0), shown_to = std::min(to, painter.size().width() + 2);
    box.rect = QRectF(shown_from, row.top + 1, std::max(1.0, shown_to - shown_from), row_height - 3);
    box.role = name.role;
    box.text = lane.counts[i] > 1 ? QStringLiteral("%1 ops").arg(countText(lane.counts[i]))
                                  : QString::fromStdString(name.op);
    const double extent = lane.ends[i] - lane.starts[i];
    box.density = lane.counts[i] > 1 && extent > 0 ? lane.busy[i] / extent : 1;
    box.marked = lane.records[i] == cursor;
    box.hovered = lane.records[i] == hovered_;
    drawOpBox(painter, box);
    shown_.push_back({box.rect, lane.records[i], lane.counts[i], index, i});
  }
}

void TrackCanvas::drawSteps(CanvasPainter& painter) {
  const protocol::ProfileSteps* steps = model_->steps();
  if (!steps || steps->durations.empty()) return;
  const Theme& theme = painter.theme();
  const double top = stepsTop(), bottom = painter.size().height() - 3, head = 15;
  painter.fill(QRectF(0, top, painter.size().width(), steps_height), theme.background);
  painter.line({0, top}, {painter.size().width(), top}, theme.border);
  const double most = *std::max_element(steps->durations.begin(), steps->durations.end());
  const auto slowest =
      steps->slowest.empty() ? std::size_t{0} : static_cast<std::size_t>(steps->slowest.front());
  const double zero = static_cast<double>(model_->stepsFrom());
  const double scale = most > 0 ? (bottom - top - head) / most : 0;
  for (std::size_t i = 0; i < steps->durations.size(); ++i) {
    const double from = xOf(steps->starts[i] + zero), to = xOf(steps->ends[i] + zero);
    if (to < 0 || from > painter.size().width()) continue;
    const double height = std::max(1.0, steps->durations[i] * scale);
    const QRectF bar(from, bottom - height, std::max(1.0, to - from - (to - from > 4 ? 1 : 0)), height);
    painter.fill(bar, mix(theme.background, theme.forward.fill, 0.8));
    // What Python took of it, hatched.
    const double python = std::min(height, steps->python[i] * scale);
    const QRectF part(bar.left(), bottom - python, bar.width(), python);
    painter.fill(part, theme.constant.fill);
    if (bar.width() > 5) painter.hatch(part, mix(theme.constant.fill, theme.constant.stroke, 0.35), 5);
    if (i == slowest || static_cast<int>(i) == hovered_step_)
      painter.outline(bar.adjusted(0, 0, -1, -1), i == slowest ? theme.warning.stroke : theme.text, 1.5);
  }
  painter.textIn(
      QRectF(4, top + 1, painter.size().width() - 8, head),
      (steps->steps == 1 ? QStringLiteral("1 step, %1; hatched: Python between ops")
                               .arg(durationText(static_cast<qint64>(most)))
                         : QStringLiteral("%1 steps, up to %2 (the %3); hatched: Python between ops")
                               .arg(countText(steps->steps), durationText(static_cast<qint64>(most)))
                               .arg(ordinalText(steps->numbers[slowest]))),
      11, theme.faintText, Qt::AlignLeft);
}

void TrackCanvas::drawSelection(CanvasPainter& painter) {
  const std::optional<TimeSpan> span = selected_ ? selected_ : model_->selection();
  if (!span) return;
  const Theme& theme = painter.theme();
  const double from = xOf(static_cast<double>(span->from)), to = xOf(static_cast<double>(span->to));
  QColor veil = theme.accent;
  veil.setAlpha(36);
  const QRectF rect(from, 0, std::max(1.0, to - from), stepsTop());
  painter.fill(rect, veil);
  painter.line(rect.topLeft(), rect.bottomLeft(), theme.accent, 1.5);
  painter.line(rect.topRight(), rect.bottomRight(), theme.accent, 1.5);
  const QString text =
      durationText(static_cast<qint64>(model_->running().of(static_cast<double>(span->to)) -
                                       model_->running().of(static_cast<double>(span->from))));
  const double width = painter.textWidth(text, 11, FontRole::bold) + 8;
  const QRectF label(
      std::clamp(rect.center().x() - width / 2, 0.0, std::max(0.0, painter.size().width() - width)), 2, width,
      axis_height - 4);
  painter.fill(label, theme.panel, 3);
  painter.outline(label, theme.accent, 1, 3);
  painter.textIn(label, text, 11, theme.text, Qt::AlignCenter, FontRole::bold);
}

void TrackCanvas::drawCursor(CanvasPainter& painter) {
  const protocol::Record* record = model_->session()->cachedRecord(model_->session()->cursor());
  if (!record) return;
  const double x = xOf(static_cast<double>(record->start_ns));
  if (x < 0 || x > painter.size().width()) return;
  const Theme& theme = painter.theme();
  painter.line({x, 4}, {x, stepsTop()}, theme.accent, 1);
  painter.triangle({x - 5, 4}, {x + 5, 4}, {x, 12}, theme.accent);
}

void TrackCanvas::paintCanvas(CanvasPainter& painter) {
  shown_.clear();
  const Theme& theme = painter.theme();
  if (!model_->track() || model_->view().length() <= 0) {
    painter.paragraph(QRectF(QPointF(20, 0), painter.size() - QSizeF(40, 0)), model_->waitingText(), 13,
                      theme.faintText);
    return;
  }
  drawAxis(painter);
  painter.clip(QRectF(0, axis_height, painter.size().width(), stepsTop() - axis_height));
  drawPauses(painter);
  for (const Row& row : rows()) {
    if (row.lane >= 0)
      drawLane(painter, row);
    else
      painter.text({6, row.top + 2}, nameOf(row), 11, theme.faintText, FontRole::bold);
  }
  painter.unclip();
  drawSteps(painter);
  drawSelection(painter);
  drawCursor(painter);
  if ((hovered_ || hovered_step_ >= 0) && !dragging_ && !selecting_) painter.tooltip(last_at_, details());
}

QStringList TrackCanvas::details() {
  if (hovered_step_ >= 0 && model_->steps()) {
    const protocol::ProfileSteps& steps = *model_->steps();
    const auto i = static_cast<std::size_t>(hovered_step_);
    return {QStringLiteral("%1 step of its run").arg(ordinalText(steps.numbers[i])),
            QStringLiteral("time\t%1").arg(durationText(static_cast<qint64>(steps.durations[i]))),
            QStringLiteral("Python\t%1").arg(durationText(static_cast<qint64>(steps.python[i])))};
  }
  const protocol::Record* record = model_->session()->record(hovered_);
  QStringList lines;
  if (!record)
    return {QStringLiteral("op %1").arg(countText(hovered_)),
            QStringLiteral("time\t%1").arg(durationText(hovered_time_))};
  lines << kindGlyph(*record) + u' ' + opText(*record) + QStringLiteral(" · ") +
               QStringLiteral("op %1").arg(countText(hovered_));
  if (hovered_count_ > 1)
    lines << QStringLiteral("%1 ops in %2; this one is the longest")
                 .arg(countText(hovered_count_), durationText(hovered_time_));
  const bool by_host = record->work == protocol::WorkTime::host;
  lines
      << QStringLiteral("time\t%1").arg(by_host ? durationText(record->duration_ns) : workSentence(*record));
  const QString place = placeText(record->cell, record->file, record->line, record->number, name_);
  if (!place.isEmpty()) lines << QStringLiteral("at\t%1").arg(place);
  if (!record->scope.empty()) lines << QStringLiteral("scope\t%1").arg(QString::fromStdString(record->scope));
  QStringList shapes, results;
  for (const auto& input : record->inputs) shapes << shapeText(input.shape);
  for (const auto& output : record->outputs) results << shapeText(output.shape);
  if (!shapes.isEmpty() || !results.isEmpty())
    lines << QStringLiteral("shapes\t%1 → %2")
                 .arg(shapes.mid(0, 6).join(QStringLiteral(", ")),
                      results.mid(0, 4).join(QStringLiteral(", ")));
  const protocol::ProfileCost* cost = model_->cost(hovered_);
  if (!cost || (cost->flops <= 0 && cost->bytes <= 0) || !cost->duration_ns) return lines;
  const auto time = static_cast<double>(*cost->duration_ns);
  lines << QStringLiteral("work\t%1, %2")
               .arg(amountText(cost->flops, QStringLiteral("FLOP")),
                    amountText(cost->bytes, QStringLiteral("B")));
  lines << QStringLiteral("rate\t%1, %2")
               .arg(rateText(cost->flops / time, QStringLiteral("FLOP")),
                    rateText(cost->bytes / time, QStringLiteral("B")));
  if (cost->roof_ns)
    lines << QStringLiteral("roof\t%1 of the machine's peak, bound by %2")
                 .arg(shareText(*cost->roof_ns / time), boundText(cost->bound));
  return lines;
}

void TrackCanvas::describe() {
  const auto [from, to] = runningView();
  const double zero = model_->running().of(static_cast<double>(model_->whole().from));
  tellPartsChanged(this);
  setAccessibleDescription(
      QStringLiteral("Shows %1 to %2 of the run; the cursor is at op %3.")
          .arg(durationText(static_cast<qint64>(from - zero)), durationText(static_cast<qint64>(to - zero)))
          .arg(model_->session()->cursor()));
}

}  // namespace tapedeck::inspector
