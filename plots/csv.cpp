#include "plots/csv.h"

#include <QLocale>

namespace tapedeck::plots {

namespace {

QByteArray quoted(const QString& text) {
  QByteArray bytes = text.toUtf8();
  const bool plain =
      !bytes.contains(',') && !bytes.contains('"') && !bytes.contains('\n') && !bytes.contains('\r');
  return plain ? bytes : '"' + bytes.replace("\"", "\"\"") + '"';
}

/// As few digits as give the same number again.
QByteArray number(double value) {
  return QByteArray::number(value, 'g', QLocale::FloatingPointShortest);
}

}  // namespace

QByteArray csvOf(const std::vector<inspector::SeriesData>& curves) {
  const QString x = curves.empty() ? QStringLiteral("step") : curves.front().x;
  QByteArray text = "curve," + quoted(x) + ",value,record\r\n";
  for (const inspector::SeriesData& curve : curves) {
    const QByteArray name = quoted(curve.title());
    for (std::size_t i = 0; i < curve.size(); ++i)
      text += name + ',' + number(curve.steps[i]) + ',' + number(curve.values[i]) + ',' +
              QByteArray::number(static_cast<qulonglong>(curve.records[i])) + "\r\n";
  }
  return text;
}

QByteArray csvOf(const QString& name, const inspector::Pictures<inspector::StepHistogram>& histograms) {
  QByteArray text = "histogram,step,from,to,count\r\n";
  for (const auto& histogram : histograms) {
    const QByteArray row = quoted(name) + ',' + number(histogram->step) + ',';
    for (std::size_t bin = 0; bin < histogram->counts.size(); ++bin)
      text += row + number(histogram->limits[bin]) + ',' + number(histogram->limits[bin + 1]) + ',' +
              number(histogram->counts[bin]) + "\r\n";
    if (histogram->notFinite)
      text += row + ",," + QByteArray::number(static_cast<qulonglong>(histogram->notFinite)) + "\r\n";
  }
  return text;
}

}  // namespace tapedeck::plots
