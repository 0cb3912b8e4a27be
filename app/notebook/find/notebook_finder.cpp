#include "app/notebook/find/notebook_finder.h"

#include <QLocale>
#include <algorithm>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

constexpr int pause_while_typing = 150;  // milliseconds
/// Characters given to the thread at a time: more is copied in the next turn of the event loop.
constexpr qsizetype batch_size = 2'000'000;

/// Of a notebook. What else it has is left out, and said to be.
constexpr qsizetype most_hits = 100'000;
/// A long text is searched up to here.
constexpr std::size_t most_read = 16'000'000;

/// What a terminal shows of an output, without its colours and cursor moves, and where that was.
struct PlainOutput {
  QString text;
  /// For each sequence that was taken away: its place in `text`, and the bytes taken away up to there.
  QList<std::pair<qsizetype, std::size_t>> taken;
};

PlainOutput plainOutput(const std::string& bytes) {
  static const QRegularExpression escape("\x1b\\[[0-9;?]*[A-Za-z]");
  const QString raw = QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size()));
  if (!raw.contains(QChar(0x1b))) return {raw, {}};
  PlainOutput plain;
  qsizetype from = 0;
  std::size_t taken = 0;
  for (auto matches = escape.globalMatch(raw); matches.hasNext();) {
    const QRegularExpressionMatch match = matches.next();
    plain.text += QStringView(raw).mid(from, match.capturedStart() - from);
    taken += static_cast<std::size_t>(match.capturedLength());
    plain.taken.append({plain.text.size(), taken});
    from = match.capturedEnd();
  }
  plain.text += QStringView(raw).mid(from);
  return plain;
}

std::string outputText(const nlohmann::ordered_json& output) {
  const auto member = [&output](const char* name) {
    const auto found = output.find(name);
    return found == output.end() ? nlohmann::ordered_json() : *found;
  };
  if (!output.is_object()) return {};
  if (output.contains("text")) return joinedText(member("text"));
  if (output.contains("traceback")) {
    std::string text;
    const nlohmann::ordered_json lines = member("traceback");
    for (std::size_t i = 0; lines.is_array() && i < lines.size(); ++i) {
      if (i > 0) text += '\n';
      if (lines[i].is_string()) text += lines[i].get_ref<const std::string&>();
    }
    return text;
  }
  const nlohmann::ordered_json data = member("data");
  for (const char* const type : {"text/plain", "text/markdown", "text/latex"})
    if (data.is_object() && data.contains(type)) return joinedText(data[type]);
  return {};
}

}  // namespace

NotebookFinder::NotebookFinder(Document* document, NotebookView* view, QObject* parent)
    : QObject(parent), document_(document), view_(view) {
  pool_.setMaxThreadCount(1);
  soon_.setSingleShot(true);
  soon_.setInterval(pause_while_typing);
  connect(&soon_, &QTimer::timeout, this, &NotebookFinder::startJob);
  connectDocument();
}

// The step limit of an expression bounds the wait.
NotebookFinder::~NotebookFinder() {
  if (stop_) *stop_ = true;
  pool_.waitForDone();
}

void NotebookFinder::connectDocument() {
  connect(document_, &Document::reset, this, &NotebookFinder::searchAll);
  connect(document_, &Document::cellChanged, this, &NotebookFinder::searchAgain);
  connect(document_, &Document::cellInserted, this, &NotebookFinder::searchAgain);
  connect(document_, &Document::outputsChanged, this, [this](int index) {
    if (query_.outputs) searchAgain(index);
  });
  const auto order = [this] {
    if (query_.text.isEmpty()) return;
    flatten();
    emit changed();
  };
  connect(document_, &Document::cellRemoved, this, order);
  connect(document_, &Document::cellMoved, this, order);
}

void NotebookFinder::setQuery(const FindQuery& query) {
  if (query == query_) return;
  query_ = query;
  pattern_ = FindPattern(query);
  reveal_ = true;
  if (current_ >= 0) {
    const Hit& hit = hits_[static_cast<std::size_t>(current_)];
    from_ = {hit.cell, hit.output, hit.at.start};
  }
  searchAll();
}

void NotebookFinder::beginAt(int cell, qsizetype offset) {
  if (cell >= 0 && cell < document_->cellCount()) from_ = {document_->cell(cell).id, -1, offset};
  current_ = -1;
}

void NotebookFinder::startAt(int cell, qsizetype first, qsizetype last, int steps) {
  if (searching() || count() == 0 || cell < 0) return;
  const qsizetype from = steps > 0 ? last : first;
  const auto behind = [&](const Hit& hit) {
    const int at = document_->indexOf(hit.cell);
    return at > cell || (at == cell && (hit.output >= 0 || hit.at.start >= from));
  };
  const TextHit selected{first, last - first};
  const auto here = std::find_if(hits_.begin(), hits_.end(), [&](const Hit& hit) {
    return hit.output < 0 && hit.at == selected && document_->indexOf(hit.cell) == cell;
  });
  const auto next = std::find_if(hits_.begin(), hits_.end(), behind);
  // A step forward leads to the next one, a step back to the previous one.
  current_ = here != hits_.end() ? here - hits_.begin()
             : steps > 0         ? (next - hits_.begin() + count() - 1) % count()
                                 : (next - hits_.begin()) % count();
}

void NotebookFinder::searchAgain(int index) {
  if (query_.text.isEmpty() || pattern_.empty()) return;
  waiting_ << document_->cell(index).id;
  if (!soon_.isActive()) soon_.start();
}

void NotebookFinder::searchAll() {
  if (stop_) *stop_ = true;
  job_ = 0;
  steps_ = 0;
  enter_ = false;
  waiting_.clear();
  results_.clear();
  soon_.stop();
  if (!pattern_.empty())
    for (int i = 0; i < document_->cellCount(); ++i) waiting_ << document_->cell(i).id;
  if (waiting_.isEmpty()) {
    flatten();
    showHits();
    emit changed();
    return;
  }
  startJob();
}

NotebookFinder::Text NotebookFinder::textOf(int index) const {
  const Cell& cell = document_->cell(index);
  Text text{cell.id, {}};
  text.parts.push_back({-1, cell.source, {}, {}});
  for (std::size_t i = 0; query_.outputs && i < cell.outputs.size(); ++i) {
    const auto printed = cell.printed.find(i);
    Part part{static_cast<int>(i), {}, {}, {}};
    if (printed != cell.printed.end())
      part.printed = printed->second;
    else
      part.text = outputText(cell.outputs[i]);
    text.parts.push_back(std::move(part));
  }
  return text;
}

void NotebookFinder::startJob() {
  if (job_ != 0) return;
  auto texts = std::make_shared<std::vector<Text>>();
  qsizetype size = 0;
  for (int i = 0; i < document_->cellCount() && size < batch_size && !waiting_.isEmpty(); ++i) {
    if (!waiting_.remove(document_->cell(i).id)) continue;
    texts->push_back(textOf(i));
    for (const Part& part : texts->back().parts)
      size += part.source.size() +
              static_cast<qsizetype>(part.text.size() +
                                     std::min(part.printed ? part.printed->size() : 0, most_read));
  }
  if (texts->empty()) {
    waiting_.clear();
    return settle();
  }
  job_ = ++lastJob_;
  stop_ = std::make_shared<std::atomic<bool>>(false);
  qsizetype left = most_hits;
  for (const Result& result : std::as_const(results_)) left -= result.hits.size();
  pool_.start([this, texts, left, pattern = pattern_, stop = stop_, job = job_]() mutable {
    QList<Result> results;
    for (const Text& text : *texts) {
      if (*stop) return;
      results << search(text, pattern, *stop, left);
      left -= results.last().hits.size();
    }
    QMetaObject::invokeMethod(
        this, [this, job, results] { take(job, results); }, Qt::QueuedConnection);
  });
}

NotebookFinder::Result NotebookFinder::search(const Text& text, const FindPattern& pattern,
                                              const std::atomic<bool>& stop, qsizetype most) {
  Result result{text.cell, {}};
  for (const Part& part : text.parts) {
    PlainOutput plain;
    if (part.output < 0)
      plain.text = part.source;
    else
      plain = plainOutput(part.printed ? part.printed->bytes(0, std::min(part.printed->size(), most_read))
                                       : part.text);
    const FindPattern::Found found = pattern.in(
        plain.text, stop, std::clamp<qsizetype>(most - result.hits.size(), 0, most_hits_of_a_text));
    result.more = result.more || found.more || (part.printed && part.printed->size() > most_read);
    result.tooHard = result.tooHard || found.tooHard;
    Hit hit{text.cell, part.output, {}, {}, 1};
    qsizetype counted = 0;
    qsizetype sequence = 0;
    std::size_t taken = 0;
    std::size_t bytes = 0;
    for (const TextHit& at : found.hits) {
      const QStringView between = QStringView(plain.text).mid(counted, at.start - counted);
      hit.line += static_cast<int>(between.count(u'\n'));
      counted = at.start;
      hit.at = at;
      if (part.output >= 0) {
        bytes += static_cast<std::size_t>(between.toUtf8().size());
        for (; sequence < plain.taken.size() && plain.taken[sequence].first <= at.start; ++sequence)
          taken = plain.taken[sequence].second;
        hit.byte = bytes + taken;
        hit.text = plain.text.mid(at.start, at.length);
      }
      result.hits << hit;
    }
  }
  return result;
}

void NotebookFinder::take(quint64 job, const QList<Result>& results) {
  if (job != job_) return;
  job_ = 0;
  for (const Result& result : results) results_[result.cell] = result;
  if (!waiting_.isEmpty()) {
    emit changed();
    return startJob();
  }
  settle();
}

/// The hits in the order of the notebook.
void NotebookFinder::flatten() {
  if (current_ >= 0) {
    const Hit& hit = hits_[static_cast<std::size_t>(current_)];
    from_ = {hit.cell, hit.output, hit.at.start};
  }
  hits_.clear();
  current_ = -1;
  bool reached = false;
  for (int i = 0; i < document_->cellCount(); ++i) {
    const QString id = document_->cell(i).id;
    reached = reached || from_.cell.isEmpty();
    const auto result = results_.constFind(id);
    if (result == results_.constEnd()) {
      reached = reached || id == from_.cell;
      continue;
    }
    for (const Hit& hit : result->hits) {
      const bool behind =
          id == from_.cell && std::pair(hit.output, hit.at.start) >= std::pair(from_.output, from_.offset);
      if (current_ < 0 && (reached || behind)) current_ = count();
      hits_.push_back(hit);
    }
    reached = reached || id == from_.cell;
  }
  if (current_ < 0 && !hits_.empty()) current_ = 0;
}

// All cells are searched: what was asked for meanwhile is done now.
void NotebookFinder::settle() {
  flatten();
  if (const int steps = std::exchange(steps_, 0); steps != 0 && count() > 0)
    current_ = ((current_ + steps) % count() + count()) % count();
  showHits();
  const bool enter = std::exchange(enter_, false);
  if (std::exchange(reveal_, false) && current_ >= 0) reveal(enter);
  emit changed();
}

void NotebookFinder::showHits() {
  QSet<QString> cells;
  for (auto result = results_.constBegin(); result != results_.constEnd(); ++result)
    if (!result->hits.isEmpty() && result->hits.first().output < 0) cells << result.key();
  for (const QString& cell : std::as_const(shown_))
    if (!cells.contains(cell)) view_->setHits(cell, {});
  for (const QString& cell : std::as_const(cells)) showHitsOf(cell);
  shown_ = cells;
}

void NotebookFinder::showHitsOf(const QString& cell) {
  SourceHits shown;
  const Hit* current = current_ < 0 ? nullptr : &hits_[static_cast<std::size_t>(current_)];
  for (const Hit& hit : results_.value(cell).hits) {
    if (hit.output >= 0) break;  // sources come first
    if (current && current->cell == cell && current->output < 0 && current->at == hit.at)
      shown.current = shown.hits.size();
    shown.hits << hit.at;
  }
  view_->setHits(cell, shown);
}

void NotebookFinder::step(int steps, bool enter) {
  reveal_ = true;
  enter_ = enter;
  if (searching()) {
    steps_ += steps;
    if (job_ == 0) startJob();
    return;
  }
  if (count() == 0) return;
  const QString before = current_ < 0 ? QString() : hits_[static_cast<std::size_t>(current_)].cell;
  current_ = ((current_ + steps) % count() + count()) % count();
  reveal_ = enter_ = false;
  const QString now = hits_[static_cast<std::size_t>(current_)].cell;
  if (shown_.contains(before)) showHitsOf(before);
  if (now != before && shown_.contains(now)) showHitsOf(now);
  reveal(enter);
  emit changed();
}

void NotebookFinder::enterCurrent() {
  if (current_ >= 0 && !searching()) reveal(true);
}

void NotebookFinder::reveal(bool enter) {
  const Hit hit = hits_[static_cast<std::size_t>(current_)];
  if (hit.output < 0)
    view_->showSourceHit(hit.cell, hit.at, enter);
  else
    view_->showOutputHit(hit.cell, hit.output, hit.at, hit.text, hit.byte);
}

QString NotebookFinder::summary() const {
  if (!pattern_.error().isEmpty()) return "Invalid regular expression: " + pattern_.error();
  if (query_.text.isEmpty()) return {};
  bool more = false;
  bool too_hard = false;
  for (const Result& result : results_) {
    more = more || result.more;
    too_hard = too_hard || result.tooHard;
  }
  const QLocale english(QLocale::English);
  QString text = searching()    ? QString("searching…")
                 : count() == 0 ? QString("No matches")
                                : QString("%1 of %2%3")
                                      .arg(english.toString(current_ + 1), more ? "more than " : "",
                                           english.toString(count()));
  if (too_hard) text += ", some cells were skipped: the expression takes too long there";
  return text;
}

QString NotebookFinder::place() const {
  if (current_ < 0 || searching()) return {};
  const Hit& hit = hits_[static_cast<std::size_t>(current_)];
  const int number = document_->indexOf(hit.cell) + 1;
  return hit.output < 0 ? QString("cell %1, line %2").arg(number).arg(hit.line)
                        : QString("output of cell %1, line %2").arg(number).arg(hit.line);
}

// ---- replacing ----

bool NotebookFinder::canReplace() const {
  return !document_->locked() && !searching() && current_ >= 0;
}

bool NotebookFinder::undoesReplacement() const {
  for (int i = 0; i < document_->cellCount(); ++i)
    if (document_->undoesText(i, false)) return true;
  return false;
}

void NotebookFinder::replaceCurrent(const QString& by) {
  if (!canReplace()) return;
  const Hit hit = hits_[static_cast<std::size_t>(current_)];
  if (hit.output >= 0) return step(1);  // what a program printed stays as it was
  const int index = document_->indexOf(hit.cell);
  const QString source = document_->cell(index).source;
  const std::optional<QString> text = pattern_.replaced(source, hit.at, by);
  if (!text) return step(1);
  current_ = -1;
  from_ = {hit.cell, -1, hit.at.start + text->size()};
  reveal_ = true;
  document_->replaceSources(
      {{index, source.left(hit.at.start) + *text + source.mid(hit.at.start + hit.at.length)}});
  soon_.stop();
  startJob();
}

QString NotebookFinder::replaceAll(const QString& by) {
  if (!canReplace()) return {};
  QList<std::pair<int, QString>> sources;
  int replaced = 0;
  for (int i = 0; i < document_->cellCount(); ++i) {
    const QString& old = document_->cell(i).source;
    QString source;
    qsizetype done = 0;
    for (const Hit& hit : results_.value(document_->cell(i).id).hits) {
      if (hit.output >= 0) continue;
      const std::optional<QString> text = pattern_.replaced(old, hit.at, by);
      if (!text) continue;
      source += QStringView(old).mid(done, hit.at.start - done);
      source += *text;
      done = hit.at.start + hit.at.length;
      ++replaced;
    }
    if (done > 0) sources.append({i, source + old.mid(done)});
  }
  if (replaced == 0) return "Nothing to replace: all matches are in outputs, which are not changed";
  document_->replaceSources(sources);
  soon_.stop();
  startJob();
  const QLocale english(QLocale::English);
  return QString("Replaced %1 in %2; Ctrl+Z undoes it")
      .arg(english.toString(replaced),
           sources.size() == 1 ? QString("one cell") : QString("%1 cells").arg(sources.size()));
}

}  // namespace tapedeck::app
