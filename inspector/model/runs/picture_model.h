// The session's summaries besides curves: histograms and images over steps, fetched as they arrive.
#pragma once

#include <QByteArray>
#include <QHash>
#include <QObject>
#include <QSize>
#include <QStringList>
#include <map>
#include <memory>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

struct StepHistogram {
  quint64 execution = 0;  ///< of the cell that made it; 0: not known
  double step = 0;
  RecordNumber record = 0;  ///< where the cursor goes for it; 0: nowhere
  quint64 number = 0;       ///< how many of its name came before it
  std::vector<double>
      limits;  ///< of the bins, rising, finite, one more than counts; empty: no value was finite
  std::vector<double> counts;
  quint64 notFinite = 0;  ///< values that are in no bin
};

/// The images of one step, all of one size.
struct StepImages {
  quint64 execution = 0;
  double step = 0;
  RecordNumber record = 0;
  quint64 number = 0;
  QSize size;
  std::vector<QByteArray> pngs;
};

/// In order of arrival. What is in them never changes, so that views may share it.
template <class Picture>
using Pictures = std::vector<std::shared_ptr<const Picture>>;

/// Holds at most `most_bytes`; then the names that take most are thinned out evenly, as in the session: one
/// of 2, of 4, … stays, and the first and the newest of each. Where
/// names are so many that two of each are too much, the oldest are dropped.
class PictureModel : public QObject {
  Q_OBJECT
 public:
  explicit PictureModel(Session* session, QObject* parent = nullptr, qint64 most_bytes = qint64{64} << 20);

  /// In order of first appearance; the first cell's of a name go by it, another cell's have a key of their
  /// own, which label() makes a text of.
  QStringList histogramNames() const { return histogramNames_; }
  QStringList imageNames() const { return imageNames_; }
  bool isEmpty() const { return histogramNames_.isEmpty() && imageNames_.isEmpty(); }
  const Pictures<StepHistogram>& histograms(const QString& name) const;
  const Pictures<StepImages>& images(const QString& name) const;
  /// What is shown for a key: the name; where several cells make pictures of that name, also the cell.
  QString label(const QString& name) const;
  void refresh() { ask(); }  ///< for what is new, where the session said that there is something
  bool loading() const;      ///< an answer is on its way

 signals:
  void changed();  ///< an answer came; the next one may be on its way
  void namesChanged();
  void failed(const QString& reason);     ///< the session could not answer
  void refused(const QString& sentence);  ///< a part of its answer is not a valid picture

 private:
  template <class Picture>
  struct Row {
    Pictures<Picture> pictures;
    qint64 bytes = 0;
    quint64 spacing = 1;  ///< one of so many stays when there is no room
  };
  template <class Picture>
  using Rows = std::map<QString, Row<Picture>>;

  void ask();
  void take(const protocol::Pictures& answer);
  /// Empty: it was accepted; else what is wrong with it.
  QString takeOne(const protocol::Picture& picture, bool* newName);
  template <class Picture>
  QString put(Rows<Picture>& rows, QStringList& names, const QString& name, Picture picture, bool* newName);
  template <class Picture>
  void restart(Rows<Picture>& rows, const QString& name);
  template <class Picture>
  static Row<Picture>* largest(Rows<Picture>& rows);
  template <class Picture>
  static qint64 thinOut(Row<Picture>& row);
  /// Whether names were dropped.
  bool keepBounded();

  Session* session_;
  const qint64 mostBytes_;
  qint64 bytes_ = 0;
  quint64 next_ = 0;
  struct Origin {
    QString name, cell;
    quint64 execution = 0;
  };
  QString keyOf(const QString& there, const QString& name);
  QHash<QString, QString> keys_;    ///< keys here, by the session's names
  QHash<QString, Origin> origins_;  ///< by the key here
  QStringList histogramNames_, imageNames_;
  Rows<StepHistogram> histograms_;
  Rows<StepImages> images_;
};

}  // namespace tapedeck::inspector
