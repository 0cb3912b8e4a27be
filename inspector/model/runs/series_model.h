// The session's curves: every series with its points, pulled as they grow.
#pragma once

#include <QObject>
#include <QStringList>
#include <memory>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

struct SeriesData {
  QString name;                        ///< the program's
  QString label;                       ///< the same; with the cell, where several draw curves of that name
  QString cell;                        ///< id of the cell that draws it; empty: no cell
  quint64 execution = 0;               ///< of the cell, that added to it last; 0: not known
  QString x = QStringLiteral("step");  ///< what its steps are, the name of the axis
  std::vector<double> steps, values;   ///< in order of arrival
  std::vector<RecordNumber> records;   ///< where the cursor goes for that point; 0: nowhere
  bool ascending = true;               ///< steps never fall
  quint64 anew = 0;      ///< how often its cell ran again and began it anew, as far as that is known
  quint64 replaced = 0;  ///< how many points went then, of those that were here
  std::size_t size() const { return steps.size(); }
  const QString& title() const { return label.isEmpty() ? name : label; }
};

class SeriesModel : public QObject {
  Q_OBJECT
 public:
  explicit SeriesModel(Session* session, QObject* parent = nullptr);
  ~SeriesModel() override;
  /// The curves' keys, in order of first appearance: that of the first of each name is the name.
  QStringList names() const;
  const SeriesData* series(const QString& name) const;
  /// The axes that curves are over, in order of first appearance: "step", "index", …
  QStringList axes() const;
  /// How many of the session's points (Status::series_points) have been received.
  quint64 position() const;
  /// Requests the points that are missing, unless such a request is pending.
  void refresh();
  bool loading() const;  ///< points are asked for and not answered
  /// The newest point made at or before a record; -1: none.
  static int pointAt(const SeriesData& series, RecordNumber record);

 signals:
  void seriesChanged(const QString& name);
  void namesChanged();
  void answered();  ///< all requested points are here, unless loading()
  /// Points could not be fetched; they are requested again when the session's state changes.
  void failed(const QString& reason);

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
