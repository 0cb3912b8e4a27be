#include "inspector/model/ops/past_search.h"

#include "inspector/model/format.h"

namespace tapedeck::inspector {

PastSearch::PastSearch(Session* session, const QString& channel, QObject* parent)
    : QObject(parent), session_(session), channel_(channel) {
  connect(session, &Session::cleared, this, &PastSearch::cancel);
}

bool PastSearch::start(const protocol::FindHit& search) {
  cancel();
  search_ = search;
  sums_ = {};
  sums_.newest = session_->recordCount();
  sums_.total = search.forward ? sums_.newest + 1 - std::min<quint64>(search.from, sums_.newest + 1)
                               : quint64{search.from};
  return running_ = ask();
}

void PastSearch::cancel() {
  if (!std::exchange(running_, false)) return;
  session_->drop(channel_);
}

bool PastSearch::ask() {
  return session_->request<protocol::FoundHit>(
      search_, this, [this](const protocol::FoundHit& hit) { take(hit); },
      [this](const protocol::Failure& failure) {
        running_ = false;
        emit failed(QString::fromStdString(failure.reason));
      },
      channel_);
}

void PastSearch::take(const protocol::FoundHit& hit) {
  sums_.lookedAt += hit.looked_at;
  sums_.lost += hit.lost;
  sums_.undecided += hit.undecided;
  sums_.oldest = hit.oldest;
  sums_.newest = hit.newest;
  sums_.problems = hit.problems;
  sums_.withoutOps.assign(hit.without_ops.begin(), hit.without_ops.end());
  if (hit.record) {
    running_ = false;
    emit found(hit);
    return;
  }
  const bool advances = search_.forward ? hit.next > search_.from : hit.next < search_.from;
  if (hit.next == 0 || !advances) {
    running_ = false;
    emit notFound();
    return;
  }
  search_.from = hit.next;
  if (!ask()) {
    running_ = false;
    emit failed(QStringLiteral("The session ended before the search finished."));
    return;
  }
  emit progressed();
}

QString undecidedText(const PastSearch::Sums& sums, bool all) {
  QString text;
  const auto ops = [](quint64 count) {
    return count == 1 ? QStringLiteral("1 op") : QStringLiteral("%1 ops").arg(countText(count));
  };
  if (sums.lost > 0)
    text +=
        QStringLiteral(" %1 could not be decided: values that are asked for are lost.").arg(ops(sums.lost));
  if (sums.undecided > 0)
    text +=
        QStringLiteral(" %1 could not be decided: what Python names and curves were then is not recorded.")
            .arg(ops(sums.undecided));
  if (all && sums.oldest > 1)
    text += QStringLiteral(" Ops before %1 were forgotten.").arg(countText(sums.oldest));
  return text;
}

}  // namespace tapedeck::inspector
