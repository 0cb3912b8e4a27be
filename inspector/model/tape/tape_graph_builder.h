// Makes the graph of a long tape beside the UI thread.
#pragma once

#include <QObject>
#include <memory>

#include "inspector/model/tape/tape_graph.h"

namespace tapedeck::inspector {

/// What a graph is made of.
struct TapePart {
  std::vector<protocol::Record> records;  ///< see buildTapeGraph()
  RecordNumber cursor = 0;
  TapeExtent extent;
  Moment moment = Moment::cursorBegan;
  quint64 tape = 0;
  quint64 dropped = 0;
};

class TapeGraphBuilder : public QObject {
  Q_OBJECT
 public:
  explicit TapeGraphBuilder(QObject* parent = nullptr);
  ~TapeGraphBuilder() override;  ///< abandons the job under way, and does not wait

  /// Few records are made into a graph at once; of many the graph comes later. While one is being made, only
  /// the newest request behind it is kept.
  void request(TapePart part);
  /// Drops everything: no graph comes.
  void cancel();
  bool busy() const { return running_; }

 signals:
  void built(const tapedeck::inspector::TapeGraph& graph);

 private:
  void start(TapePart part);

  std::optional<TapePart> next_;
  quint64 number_ = 0;  ///< of the request that may answer
  bool running_ = false;
};

}  // namespace tapedeck::inspector
