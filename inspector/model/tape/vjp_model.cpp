#include "inspector/model/tape/vjp_model.h"

#include <QHash>
#include <QSet>
#include <QStringList>
#include <QTimer>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

const QString parts_channel = QStringLiteral("vjp/parts");
const QString terms_channel = QStringLiteral("vjp/terms");
constexpr std::int64_t small_count = 48;     ///< numbers that a row of the panel holds
constexpr std::int64_t thumbnail_side = 96;  ///< cells
constexpr qsizetype most_values = 256;

constexpr std::chrono::milliseconds calm{120};

std::int64_t stepFor(std::int64_t extent) {
  return std::max<std::int64_t>(1, (extent + thumbnail_side - 1) / thumbnail_side);
}

/// Rows and columns of the tensor as one matrix: all axes but the last are rows.
std::pair<std::int64_t, std::int64_t> matrixOf(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return {1, 1};
  const std::int64_t columns = shape.back(), count = elementCount(shape);
  return {columns > 0 ? count / columns : 0, columns};
}

void measure(VjpValue& value) {
  double squares = 0, low = INFINITY, high = -INFINITY;
  value.odd = 0;
  for (const double number : value.tile->values) {
    if (!std::isfinite(number)) {
      ++value.odd;
      continue;
    }
    squares += number * number;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  if (low > high) return;
  value.norm = std::sqrt(squares);
  value.minimum = low;
  value.maximum = high;
}

}  // namespace

struct VjpModel::Private {
  VjpModel* q = nullptr;
  Session* session = nullptr;
  bool active = false, seen = false;
  QTimer soon;             ///< what the step itself shows is asked for first: a VJP's parts take work
  RecordNumber asked = 0;  ///< what parts() answers, or will
  protocol::VjpParts parts;
  QString problem;
  QHash<TensorId, VjpValue> values;
  std::optional<Element> element;
  std::optional<protocol::ElementTerms> terms;
  QString termsProblem;
  BranchLook look;            ///< whose the values are
  RecordNumber revealed = 0;  ///< the VJP whose results were asked for before it ran

  bool hidesResults() const {
    return parts.vjp && parts.vjp->number != revealed &&
           std::any_of(parts.contributions.begin(), parts.contributions.end(),
                       [](const auto& each) { return each.foreseen && each.contribution; });
  }

  void showResults() {
    if (!hidesResults()) return;
    revealed = parts.vjp->number;
    wantValues();
    emit q->partsChanged();
  }

  void notice() {
    if (seen) return;
    const protocol::Record* record = session->cachedRecord(session->cursor());
    if (!record || !record->backward || record->kind == protocol::RecordKind::playback) return;
    seen = true;
    emit q->seenChanged();
  }

  void clear() {
    values.clear();
    completeStop = 0;
    setParts({}, {});
    asked = revealed = 0;
    if (std::exchange(seen, false)) emit q->seenChanged();
  }

  void setParts(protocol::VjpParts fresh, const QString& reason) {
    const bool same = fresh.vjp && parts.vjp && fresh.vjp->number == parts.vjp->number;
    parts = std::move(fresh);
    problem = reason;
    if (!same) {
      element.reset();
      forgetTerms();
    }
    emit q->partsChanged();
    if (same && element) askTerms();
  }

  void forgetTerms() {
    session->drop(terms_channel);
    terms.reset();
    termsProblem.clear();
    emit q->termsChanged();
  }

  void ask() {
    const RecordNumber cursor = session->cursor();
    if (!active || cursor == 0) return;
    asked = cursor;
    const QString ended = QStringLiteral("This VJP was not fetched before the session ended.");
    const bool sent = session->request<protocol::VjpParts>(
        protocol::GetVjp{cursor}, q, [this](const protocol::VjpParts& answer) { take(answer); },
        [this, ended](const protocol::Failure& failure) {
          if (failure.code == "ended" && parts.asked == asked) return;
          setParts({}, failure.code == "ended" ? ended : QString::fromStdString(failure.reason));
        },
        parts_channel);
    if (!sent && parts.asked != cursor) setParts({}, ended);
  }

  void take(const protocol::VjpParts& answer) {
    setParts(answer, answer.forward || answer.sum
                         ? QString()
                         : QStringLiteral("No VJP here. Move the cursor into a playback, or "
                                          "to an op that a tape recorded."));
    wantValues();
    // It ran while the answer was on its way.
    const protocol::Record* now = parts.vjp ? session->cachedRecord(parts.vjp->number) : nullptr;
    if (now && now->state == protocol::RecordState::done && parts.vjp->state != now->state) ask();
    if (sumWasMade()) ask();
  }

  /// The sum that is shown as one to come has been made.
  bool sumWasMade() const {
    const protocol::Record* now = parts.sum ? session->cachedRecord(parts.sum->record) : nullptr;
    return now && now->state == protocol::RecordState::done && !parts.sum->after;
  }

  const protocol::CompleteGradient* complete() const {
    const protocol::Status& status = session->status();
    const bool here = status.gate == protocol::GateState::stopped && status.complete_gradient &&
                      session->cursor() == session->stoppedBefore();
    return here && session->live() ? &*status.complete_gradient : nullptr;
  }

  /// The program came to such a stop, or left it.
  void noticeComplete() {
    const auto* now = complete();
    const quint64 stop = now ? now->stop : 0;
    if (std::exchange(completeStop, stop) == stop) return;
    if (active) wantValues();
    emit q->partsChanged();
  }

  void wantValues() {
    QList<const protocol::TensorInfo*> shown;
    const auto show = [&](const std::optional<protocol::TensorInfo>& info) {
      if (info) shown << &*info;
    };
    if (const auto* finished = complete(); finished) shown << &finished->gradient;
    if (parts.sum) {
      for (const protocol::GradientPart& part : parts.sum->parts) shown << &part.value;
      shown << &parts.sum->before << &parts.sum->contribution;
      show(parts.sum->after);
    }
    for (const protocol::VjpSymbol& symbol : parts.symbols) show(symbol.tensor);
    const bool hidden = hidesResults();
    for (const protocol::VjpContribution& contribution : parts.contributions) {
      if (hidden) break;  // what was there before may be the other input's, which is to come, too
      show(contribution.before);
      show(contribution.contribution);
      show(contribution.after);
    }
    if (values.size() >= most_values) forgetOthers(shown);
    for (const protocol::TensorInfo* info : shown) wantValue(*info);
  }

  /// What is shown stays, however much that is.
  void forgetOthers(const QList<const protocol::TensorInfo*>& shown) {
    QSet<TensorId> kept;
    for (const protocol::TensorInfo* info : shown) kept.insert(info->id);
    values.removeIf([&](QHash<TensorId, VjpValue>::iterator one) { return !kept.contains(one.key()); });
  }

  /// The values of a branch, or of the original, where others were shown.
  void updateLook() {
    const bool same = look.sameValues(session->look());
    look = session->look();
    if (same) return;
    values.clear();
    forgetTerms();
    wantValues();
    emit q->partsChanged();
    if (element) askTerms();
  }

  void wantValue(const protocol::TensorInfo& info) {
    if (info.id == 0) return;
    const auto known = values.constFind(info.id);
    if (known != values.constEnd() && known->problem.isEmpty()) return;
    VjpValue value;
    value.info = info;
    const std::int64_t count = elementCount(info.shape);
    value.small = count >= 0 && count <= small_count;
    values.insert(info.id, value);
    const auto [rows, columns] = matrixOf(info.shape);
    protocol::GetTile get;
    get.tensor = info.id;
    get.reshape = {rows, columns};
    get.row_step = value.small ? 1 : stepFor(rows);
    get.column_step = value.small ? 1 : stepFor(columns);
    get.rows = rows / get.row_step + 1;
    get.columns = columns / get.column_step + 1;
    const QString channel = QStringLiteral("vjp/value/%1").arg(info.id);
    const TensorId id = info.id;
    const bool sent = session->request<protocol::Tile>(
        get, q, [this, id](const protocol::Tile& tile) { takeTile(id, tile); },
        [this, id](const protocol::Failure& failure) { fail(id, failure); }, channel);
    if (!sent) fail(id, {"", "ended"});
    if (sent && !value.small) askStatistics(id);
  }

  void askStatistics(TensorId id) {
    protocol::GetStatistics get;
    get.tensor = id;
    get.bins = 1;
    session->request<protocol::Statistics>(
        get, q,
        [this, id](const protocol::Statistics& s) {
          const auto value = values.find(id);
          if (value == values.end()) return;
          value->odd = s.nan + s.positive_infinity + s.negative_infinity;
          if (s.mean && s.deviation) {
            value->minimum = s.minimum;
            value->maximum = s.maximum;
            value->norm =
                std::sqrt(static_cast<double>(s.finite) * (*s.mean * *s.mean + *s.deviation * *s.deviation));
          }
          emit q->valueChanged(id);
        },
        [](const protocol::Failure&) {}, QStringLiteral("vjp/statistics/%1").arg(id));
  }

  void takeTile(TensorId id, const protocol::Tile& tile) {
    const auto value = values.find(id);
    if (value == values.end()) return;
    if (tile.rows < 0 || tile.columns < 0 || tile.rows > 4096 || tile.columns > 4096 ||
        static_cast<std::int64_t>(tile.values.size()) != tile.rows * tile.columns)
      return fail(id, {"The session's answer is malformed.", "bad_answer"});
    value->tile = tile;
    value->problem.clear();
    if (value->small) measure(*value);
    emit q->valueChanged(id);
  }

  void fail(TensorId id, const protocol::Failure& failure) {
    const auto value = values.find(id);
    if (value == values.end()) return;
    value->problem = failure.code == "ended" ? QStringLiteral("not fetched before the session ended")
                                             : QString::fromStdString(failure.reason);
    emit q->valueChanged(id);
  }

  void askTerms() {
    if (!element || !parts.vjp || element->contribution >= static_cast<int>(parts.contributions.size()))
      return;
    if (session->look().elsewhere()) {
      termsProblem = QStringLiteral("The terms are known only for the original: switch to it to see them.");
      emit q->termsChanged();
      return;
    }
    const protocol::VjpContribution& contribution =
        parts.contributions[static_cast<std::size_t>(element->contribution)];
    protocol::ExplainElement get;
    get.record = parts.vjp->number;
    get.input = contribution.input;
    get.element = static_cast<std::uint64_t>(element->element);
    termsProblem = QStringLiteral("Looking for the terms …");
    const QString ended = QStringLiteral("The terms were not fetched before the session ended.");
    const bool sent = session->request<protocol::ElementTerms>(
        get, q,
        [this](const protocol::ElementTerms& answer) {
          terms = answer;
          termsProblem.clear();
          emit q->termsChanged();
        },
        [this, ended](const protocol::Failure& failure) {
          terms.reset();
          termsProblem = failure.code == "ended" ? ended : QString::fromStdString(failure.reason);
          emit q->termsChanged();
        },
        terms_channel,
        [this](const protocol::Progress& told) {
          termsProblem = QStringLiteral("Recomputing values: %1 of %2 ops ran again")
                             .arg(countText(told.done), countText(told.total));
          emit q->termsChanged();
        });
    if (!sent) termsProblem = ended;
    emit q->termsChanged();
  }

  /// Whether what is shown may have changed: the VJP ran meanwhile, or its contribution was added.
  bool concerns(RecordNumber first, RecordNumber last) const {
    if (parts.asked == session->cursor() && sumWasMade()) return true;
    if (parts.asked != session->cursor() || !parts.vjp) return false;
    const protocol::Record* now = session->cachedRecord(parts.vjp->number);
    const bool ran = now && now->state != parts.vjp->state;
    const bool inside = parts.vjp->custom_gradient && parts.vjp->state != protocol::RecordState::done &&
                        last > parts.vjp->number && first <= last;
    return ran || inside;
  }

  quint64 completeStop = 0;  ///< whose gradient is shown; 0: none is complete here
};

VjpModel::VjpModel(Session* session, QObject* parent) : QObject(parent), d_(std::make_unique<Private>()) {
  d_->q = this;
  d_->session = session;
  d_->soon.setSingleShot(true);
  d_->soon.setInterval(calm);
  connect(&d_->soon, &QTimer::timeout, this, [this] { d_->ask(); });
  connect(session, &Session::cursorChanged, this, [this] {
    d_->notice();
    d_->noticeComplete();
    d_->soon.start();
  });
  connect(session, &Session::recordsChanged, this, [this](RecordNumber first, RecordNumber last) {
    d_->notice();
    if (d_->concerns(first, last)) d_->ask();
  });
  connect(session, &Session::statusChanged, this, [this] { d_->noticeComplete(); });
  connect(session, &Session::lookChanged, this, [this] { d_->updateLook(); });
  connect(session, &Session::cleared, this, [this] { d_->clear(); });
  d_->notice();
}

VjpModel::~VjpModel() = default;

Session* VjpModel::session() const {
  return d_->session;
}
bool VjpModel::seen() const {
  return d_->seen;
}
const protocol::VjpParts& VjpModel::parts() const {
  return d_->parts;
}
QString VjpModel::problem() const {
  return d_->problem;
}
const protocol::CompleteGradient* VjpModel::complete() const {
  return d_->complete();
}
std::optional<VjpModel::Element> VjpModel::element() const {
  return d_->element;
}
const protocol::ElementTerms* VjpModel::terms() const {
  return d_->terms ? &*d_->terms : nullptr;
}
QString VjpModel::termsProblem() const {
  return d_->termsProblem;
}

void VjpModel::setActive(bool active) {
  if (std::exchange(d_->active, active) || !active) return;
  if (d_->asked != d_->session->cursor() || d_->parts.asked != d_->asked) d_->ask();
  d_->wantValues();
}

const VjpValue* VjpModel::value(TensorId tensor) const {
  const auto found = d_->values.constFind(tensor);
  return found == d_->values.constEnd() ? nullptr : &*found;
}

void VjpModel::explain(int contribution, qint64 element) {
  const auto& contributions = d_->parts.contributions;
  if (contribution < 0 || contribution >= static_cast<int>(contributions.size())) return;
  const auto& made = contributions[static_cast<std::size_t>(contribution)].contribution;
  if (element < 0 || element >= elementCount(made ? made->shape : std::vector<std::int64_t>())) return;
  d_->showResults();
  if (d_->element == Element{contribution, element} && (d_->terms || d_->session->asking(terms_channel)))
    return;
  d_->element = Element{contribution, element};
  d_->terms.reset();
  d_->askTerms();
}

bool VjpModel::hidesResults() const {
  return d_->hidesResults();
}

void VjpModel::showResults() {
  d_->showResults();
}

void VjpModel::explainNothing() {
  d_->element.reset();
  d_->forgetTerms();
}

std::optional<qint64> VjpModel::elementAt(int contribution, const QString& index, QString* wrong) const {
  const auto& contributions = d_->parts.contributions;
  if (contribution < 0 || contribution >= static_cast<int>(contributions.size())) return std::nullopt;
  const auto& made = contributions[static_cast<std::size_t>(contribution)].contribution;
  const std::vector<std::int64_t> shape = made ? made->shape : std::vector<std::int64_t>();
  QString text = index;
  text.remove('[').remove(']');
  const QStringList places = text.split(QLatin1Char(','), Qt::SkipEmptyParts);
  if (places.size() != static_cast<qsizetype>(shape.size())) {
    *wrong = QStringLiteral("%1 numbers are needed for the shape %2, not %3")
                 .arg(shape.size())
                 .arg(shapeText(shape))
                 .arg(places.size());
    return std::nullopt;
  }
  qint64 element = 0;
  for (qsizetype axis = 0; axis < places.size(); ++axis) {
    bool whole = false;
    const qint64 extent = shape[static_cast<std::size_t>(axis)];
    qint64 at = places[axis].trimmed().toLongLong(&whole);
    if (at < 0) at += extent;
    if (!whole || at < 0 || at >= extent) {
      *wrong = QStringLiteral("%1 is not an index on an axis of %2").arg(places[axis].trimmed()).arg(extent);
      return std::nullopt;
    }
    element = element * extent + at;
  }
  return element;
}

QString indexText(const std::vector<std::int64_t>& shape, qint64 element) {
  QStringList places;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    if (*extent <= 0) return {};
    places.prepend(QString::number(element % *extent));
    element /= *extent;
  }
  return places.join(QLatin1Char(','));
}

}  // namespace tapedeck::inspector
