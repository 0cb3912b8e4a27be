// Which records make the graph at the cursor, and fetching them.
#include <QTimer>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tape/tape_graph_builder.h"

namespace tapedeck::inspector {

using protocol::Record;

namespace {

constexpr RecordNumber window_before = 200;   ///< shown without any tape
constexpr RecordNumber tape_search = 512;     ///< how far back the newest tape is looked for
constexpr RecordNumber merged_records = 256;  ///< steps that are followed without asking for the tape again
constexpr RecordNumber inside_limit = 200;    ///< ops shown of one custom gradient
/// A tape of so many ops is fetched whole, with their VJPs: a step of a network of some hundred layers.
constexpr std::uint32_t whole_ops = 4000;
constexpr std::uint32_t part_ops = 600;       ///< of a longer one at once, or of one that grows just now
constexpr std::size_t most_records = 40'000;  ///< that steps add before the part is chosen anew
constexpr std::ptrdiff_t edge_ops = 20;       ///< nearer to the end of a part the next one is fetched
const QString tape_channel = QStringLiteral("tape");

}  // namespace

struct TapeGraphModel::Private {
  TapeGraphModel* q;
  Session* session;
  TapeGraph graph;
  TapeGraphBuilder builder;
  QTimer timer;
  QString problem;

  // What was fetched: the records of one tape as far as `last`, all of them or those around one.
  quint64 tape = 0;
  std::map<RecordNumber, Record> records;
  RecordNumber last = 0;
  RecordNumber around = 0;
  TapeExtent extent;
  RecordNumber page = 0;  ///< the user wants the part around that record; 0: around the cursor

  quint64 requestedTape = 0;
  RecordNumber requestedLast = 0, requestedAround = 0;
  std::uint32_t limit = 0, requestedLimit = 0;

  void schedule() {
    if (!timer.isActive()) timer.start();
  }

  void forget() {
    tape = 0;
    records.clear();
    last = around = page = 0;
    extent = {};
    problem.clear();
  }

  /// The tape of a record, or of what it runs inside of; 0: none. Only fetched records are examined.
  quint64 tapeOf(const Record* record) const {
    while (record && !record->tape && record->parent) record = session->cachedRecord(record->parent);
    return record ? record->tape : 0;
  }

  /// The ops inside of built-in VJPs are no nodes: the VJP is where they are.
  RecordNumber drawn(RecordNumber cursor) const {
    for (const Record* at = session->cachedRecord(cursor); at && at->parent && at->parent < cursor;) {
      const Record* parent = session->cachedRecord(at->parent);
      if (parent && parent->kind == protocol::RecordKind::vjp && !parent->custom_gradient)
        cursor = parent->number;
      at = parent && parent->number < at->number ? parent : nullptr;
    }
    return cursor;
  }

  quint64 newestTape(RecordNumber cursor) const {
    for (RecordNumber number = cursor; number && cursor - number < tape_search; --number) {
      const Record* record = session->cachedRecord(number);
      if (record && record->tape) return record->tape;
    }
    return tape && !records.empty() && records.begin()->first <= cursor ? tape : 0;
  }

  /// The tape was too long to be fetched whole.
  bool isPart() const { return extent.before || extent.after; }

  /// Steps are followed with the records that the session fetched anyway.
  bool merge(RecordNumber cursor) {
    if (isPart() || records.size() > most_records) return false;
    if (cursor <= last) return true;
    if (last == 0 || cursor - last > merged_records) return false;
    for (RecordNumber number = last + 1; number <= cursor; ++number)
      if (!session->cachedRecord(number)) return false;
    // Ops without a tape that follow belong to the picture too: they use what the playback made.
    for (RecordNumber number = last + 1; number <= cursor; ++number)
      records[number] = *session->cachedRecord(number);
    extent = {};
    last = cursor;
    return true;
  }

  bool runs() const {
    return session->status().running_cell && session->status().gate != protocol::GateState::stopped;
  }

  /// How many ops of the tape to fetch. While it grows by itself, many parts of it may come in a second.
  std::uint32_t opsOf(quint64 wanted) const {
    return runs() || (wanted == tape && extent.ops > whole_ops) ? part_ops : whole_ops;
  }

  /// Around which record the part of the tape should lie: where it lies now, while the cursor is well inside.
  RecordNumber middle(const Record& cursor, quint64 wanted) const {
    if (page) return page;
    if (wanted != tape || !isPart()) return cursor.number;
    const RecordNumber op = cursor.forward ? cursor.forward : cursor.number;
    std::vector<RecordNumber> ops;
    for (const auto& [number, record] : records)
      if (record.tape == tape &&
          (record.kind == protocol::RecordKind::op || record.kind == protocol::RecordKind::custom))
        ops.push_back(number);
    const auto at = std::upper_bound(ops.begin(), ops.end(), op) - ops.begin();
    const bool inside = !ops.empty() && op >= ops.front() && (at > edge_ops || extent.before == 0) &&
                        (static_cast<std::ptrdiff_t>(ops.size()) - at > edge_ops || extent.after == 0);
    return inside && around ? around : cursor.number;
  }

  void update() {
    const RecordNumber cursor = drawn(session->cursor());
    if (cursor == 0) return showNothing();
    const Record* record = session->record(cursor);
    if (!record && session->live()) return;  // recordsChanged comes
    if (!record) {
      problem = notFetchedText(cursor);
      return showNothing();
    }
    if (!session->live()) problem.clear();
    quint64 wanted = tapeOf(record);
    if (!wanted) wanted = newestTape(cursor);
    if (!wanted) {
      showWindow(cursor);
      return;
    }
    if (wanted == tape && !page && merge(cursor)) {
      refresh();
      build(cursor);
      return;
    }
    const RecordNumber wantedAround = middle(*record, wanted);
    const std::uint32_t wantedLimit = opsOf(wanted);
    const bool enough = !isPart() || limit >= wantedLimit;
    if (wanted == tape && last == cursor && around == wantedAround && enough) {
      refresh();
      build(cursor);
      return;
    }
    if (wanted == tape && around == wantedAround) build(cursor);  // with what is here, until more comes
    if (session->asking(tape_channel) && requestedTape == wanted && requestedLast == cursor &&
        requestedAround == wantedAround && requestedLimit == wantedLimit)
      return;
    requestedTape = wanted;
    requestedLast = cursor;
    requestedAround = wantedAround;
    requestedLimit = wantedLimit;
    const bool asked = session->request<protocol::TapeRecords>(
        protocol::GetTape{wanted, protocol::if_there(cursor), wantedLimit, protocol::if_there(wantedAround)},
        q, [this](const protocol::TapeRecords& answer) { take(answer); },
        [this](const protocol::Failure& failure) {
          if (failure.code == "ended") return schedule();  // with what is here
          problem = QString::fromStdString(failure.reason);
          showWindow(session->cursor());
        },
        tape_channel);
    if (asked) return;
    if (wanted == tape) {
      build(cursor);
    } else {
      showWindow(cursor);
    }
  }

  /// Newer states of the same records: what was pending has run by now.
  void refresh() {
    for (auto& [number, record] : records) {
      if (record.state != protocol::RecordState::pending && record.state != protocol::RecordState::running)
        continue;
      if (const Record* now = session->record(number)) record = *now;
    }
  }

  /// What ran inside of functions with custom gradients is on no tape, so it comes from the session's own
  /// pages.
  void addInside(RecordNumber cursor) {
    std::vector<Record> inside;
    for (const auto& [number, record] : records) {
      const bool group = record.kind == protocol::RecordKind::custom ||
                         (record.kind == protocol::RecordKind::vjp && record.custom_gradient);
      if (!group || number > cursor || records.contains(number + 1)) continue;
      for (RecordNumber next = number + 1; next <= cursor && next - number <= inside_limit; ++next) {
        const Record* found = session->record(next);
        if (!found || found->depth <= record.depth) break;
        inside.push_back(*found);
      }
    }
    for (Record& record : inside) records.insert_or_assign(record.number, std::move(record));
  }

  /// Of a tape that is shown in part only what lies in that part belongs to the picture, and what is on no
  /// tape.
  bool belongs(const Record& record) const {
    if (!isPart() || !tapeOf(&record)) return true;
    for (const Record* at = &record; at && at->parent; at = session->cachedRecord(at->parent))
      if (const auto parent = records.find(at->parent);
          parent != records.end() && parent->second.kind != protocol::RecordKind::playback)
        return true;
    return false;
  }

  Moment moment(RecordNumber cursor) const {
    return cursor >= session->recordCount() ? Moment::now : Moment::cursorBegan;
  }

  /// With the values of what is shown: the branch's, for instance.
  std::vector<Record> withShownPreviews(std::vector<Record> shown) const {
    if (session->look().elsewhere())
      for (Record& record : shown) record = session->withShownPreviews(std::move(record));
    return shown;
  }

  void build(RecordNumber cursor) {
    addInside(cursor);
    std::vector<Record> shown;
    for (const auto& [number, record] : records)
      if (number <= cursor) shown.push_back(record);
    // The cursor is at an op on no tape in the middle of one, or at one that is hidden behind its VJP.
    const Record* current = session->cachedRecord(cursor);
    if (current && !records.contains(cursor) && belongs(*current)) shown.push_back(*current);
    builder.request({withShownPreviews(std::move(shown)), cursor, extent, moment(cursor), tape, 0});
  }

  void showWindow(RecordNumber cursor) {
    std::vector<Record> shown;
    const RecordNumber first = cursor > window_before ? cursor - window_before : 1;
    for (RecordNumber number = first; number <= cursor; ++number)
      if (const Record* record = session->cachedRecord(number)) shown.push_back(*record);
    builder.request({withShownPreviews(std::move(shown)), cursor, {}, moment(cursor), 0, first - 1});
  }

  void showNothing() {
    builder.cancel();
    show({});
  }

  /// Where the program is stopped as a gradient is complete: what it is the gradient of.
  void markComplete(TapeGraph& next) const {
    const protocol::Status& status = session->status();
    const bool here = session->live() && status.gate == protocol::GateState::stopped &&
                      status.complete_gradient && session->cursor() == session->stoppedBefore();
    if (!here) return;
    const protocol::TensorInfo& source = status.complete_gradient->source;
    const auto leaf = std::find_if(next.nodes.begin(), next.nodes.end(),
                                   [&](const GraphNode& node) { return node.leaf.id == source.id; });
    if (leaf != next.nodes.end())
      leaf->complete = true;
    else if (const int maker = source.producer ? next.nodeOf(source.producer) : -1; maker >= 0)
      next.nodes[static_cast<std::size_t>(maker)].complete = true;
  }

  void show(TapeGraph next) {
    markComplete(next);
    if (next.empty() && graph.empty() && next.cursor == graph.cursor) return;
    graph = std::move(next);
    emit q->graphChanged();
  }

  void take(const protocol::TapeRecords& answer) {
    problem.clear();
    tape = requestedTape;
    limit = requestedLimit;
    records.clear();
    extent = {};
    if (answer.before || answer.after) extent = {answer.before, answer.after, answer.ops, answer.vjps};
    if (isPart() && limit > opsOf(tape)) {  // its length was not known
      last = around = 0;
      return schedule();
    }
    for (const Record& record : answer.records) records[record.number] = record;
    last = requestedLast;
    around = requestedAround;
    addUntaped();
    schedule();
  }

  /// The cursor's record and the ops since the tape's last one, where they are on no tape.
  void addUntaped() {
    const RecordNumber newest = records.empty() ? 0 : records.rbegin()->first;
    const RecordNumber first = std::max(newest + 1, last > window_before ? last - window_before : 1);
    for (RecordNumber number = first; number <= last; ++number)
      if (const Record* record = session->cachedRecord(number); record && belongs(*record))
        records[number] = *record;
    if (const Record* record = session->cachedRecord(last); record && belongs(*record))
      records[last] = *record;
  }
};

TapeGraphModel::TapeGraphModel(Session* session, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>()) {
  d_->q = this;
  d_->session = session;
  connect(&d_->builder, &TapeGraphBuilder::built, this, [this](const TapeGraph& graph) { d_->show(graph); });
  d_->timer.setSingleShot(true);
  d_->timer.setInterval(0);
  connect(&d_->timer, &QTimer::timeout, this, [this] { d_->update(); });
  connect(session, &Session::cursorChanged, this, [this] {
    d_->page = 0;
    d_->schedule();
  });
  connect(session, &Session::recordsChanged, this, [this](RecordNumber first, RecordNumber last) {
    const RecordNumber cursor = d_->session->cursor();
    const bool seen = first <= cursor && (last + window_before >= cursor || last >= d_->last);
    if (seen) d_->schedule();
  });
  connect(session, &Session::stopped, this, [this] { d_->schedule(); });
  connect(session, &Session::statusChanged, this, [this] {
    if (d_->isPart() && d_->limit < d_->opsOf(d_->tape)) d_->schedule();  // it grows no more
  });
  connect(session, &Session::lookChanged, this, [this] { d_->schedule(); });
  connect(session, &Session::previewsChanged, this, [this] { d_->schedule(); });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live || d_->session->cursor()) d_->schedule();
  });
  connect(session, &Session::cleared, this, [this] {
    d_->forget();
    d_->showNothing();
  });
  d_->schedule();
}

TapeGraphModel::~TapeGraphModel() = default;
const TapeGraph& TapeGraphModel::graph() const {
  return d_->graph;
}
Session* TapeGraphModel::session() const {
  return d_->session;
}
bool TapeGraphModel::loading() const {
  const RecordNumber cursor = d_->session->cursor();
  const bool record_comes = d_->session->live() && cursor && !d_->session->cachedRecord(cursor);
  return d_->timer.isActive() || record_comes || d_->session->asking(tape_channel) || d_->builder.busy();
}
void TapeGraphModel::showAround(RecordNumber record) {
  d_->page = record;
  d_->schedule();
}
QString TapeGraphModel::problem() const {
  return d_->problem;
}

}  // namespace tapedeck::inspector
