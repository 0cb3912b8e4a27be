#include "inspector/model/tape/tape_graph_builder.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>

namespace tapedeck::inspector {

namespace {

constexpr std::size_t built_at_once = 1500;  ///< records: some milliseconds

TapeGraph graphOf(const TapePart& part) {
  TapeGraph graph = buildTapeGraph(part.records, part.cursor, part.extent, part.moment);
  graph.tape = part.tape;
  graph.dropped = part.dropped;
  return graph;
}

}  // namespace

TapeGraphBuilder::TapeGraphBuilder(QObject* parent) : QObject(parent) {}

TapeGraphBuilder::~TapeGraphBuilder() = default;

void TapeGraphBuilder::request(TapePart part) {
  if (part.records.size() <= built_at_once) {
    cancel();
    emit built(graphOf(part));
  } else if (running_) {
    next_ = std::move(part);
  } else {
    start(std::move(part));
  }
}

void TapeGraphBuilder::cancel() {
  ++number_;
  next_.reset();
  running_ = false;
}

void TapeGraphBuilder::start(TapePart part) {
  running_ = true;
  auto whole = std::make_shared<const TapePart>(std::move(part));
  QThreadPool::globalInstance()->start(
      [builder = QPointer<TapeGraphBuilder>(this), number = ++number_, whole] {
        const auto graph = std::make_shared<const TapeGraph>(graphOf(*whole));
        // The builder may be gone by now: what comes back goes by way of the application's own object.
        QMetaObject::invokeMethod(
            QCoreApplication::instance(),
            [builder, number, graph] {
              if (!builder || builder->number_ != number) return;
              builder->running_ = false;
              if (builder->next_) builder->start(*std::exchange(builder->next_, std::nullopt));
              emit builder->built(*graph);
            },
            Qt::QueuedConnection);
      });
}

}  // namespace tapedeck::inspector
