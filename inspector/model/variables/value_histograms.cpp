// The histograms of a tree of values: one at a time, for the rows that are painted.
#include "inspector/model/format.h"
#include "inspector/model/variables/value_text.h"
#include "inspector/model/variables/value_tree.h"

namespace tapedeck::inspector {

namespace {

constexpr std::uint32_t histogram_bins = 24;
constexpr int most_histograms = 4000;

}  // namespace

QList<quint64> ValueTree::histogramOf(const Node& node) const {
  if (!showable(node.info) || !node.info.shape || elementCount(*node.info.shape) < 2) return {};
  if (!node.histogram.isEmpty()) return node.histogram;
  const TensorId tensor = node.info.tensor.value_or(0);
  if (const auto found = histograms_.constFind(tensor); found != histograms_.cend()) return *found;
  const QPersistentModelIndex wanted = indexOf(&node);
  if (!active_ || !frames_->readable() || wantedHistograms_.contains(wanted)) return {};
  wantedHistograms_ << wanted;
  if (wantedHistograms_.size() == 1)
    QMetaObject::invokeMethod(
        const_cast<ValueTree*>(this), [this] { const_cast<ValueTree*>(this)->askHistogram(); },
        Qt::QueuedConnection);
  return {};
}

void ValueTree::askHistogram() {
  while (!wantedHistograms_.isEmpty() && !wantedHistograms_.first().isValid())
    wantedHistograms_.removeFirst();
  if (wantedHistograms_.isEmpty()) return;
  const QPersistentModelIndex wanted = wantedHistograms_.first();
  const auto next = [this, wanted](const QList<quint64>& bars, bool failed) {
    wantedHistograms_.removeOne(wanted);
    if (wanted.isValid()) {
      Node* node = nodeOf(wanted);
      // Nothing finite, or nobody who knows: a row without bars, which is not asked for again at each paint.
      const QList<quint64> kept = bars.isEmpty() ? QList<quint64>{0} : bars;
      if (histograms_.size() > most_histograms) histograms_.clear();
      if (node->info.tensor && !failed) histograms_.insert(*node->info.tensor, kept);
      node->histogram = kept;
      emit dataChanged(indexOf(node, Histogram), indexOf(node, Histogram), {HistogramRole});
    }
    askHistogram();
  };
  const bool asked = session_->request<protocol::Statistics>(
      protocol::SummarizeValue{placeOf(nodeOf(wanted)), histogram_bins}, this,
      [next](const protocol::Statistics& answer) {
        next(answer.finite ? QList<quint64>(answer.histogram.begin(), answer.histogram.end())
                           : QList<quint64>(),
             false);
      },
      [next](const protocol::Failure&) { next({}, true); }, channel_ + QStringLiteral("/histogram"));
  if (!asked) wantedHistograms_.clear();
}

}  // namespace tapedeck::inspector
