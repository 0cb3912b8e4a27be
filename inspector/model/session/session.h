// The state of one session as its views share it: status, the cursor, records by page.
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <memory>
#include <vector>

#include "engine/protocol/messages.h"
#include "inspector/model/session/source.h"
#include "inspector/model/what_if/branch_look.h"

namespace tapedeck::inspector {

using RecordNumber = quint64;
using TensorId = quint64;

/// One per notebook. Outlives its Source: when the session process dies, everything that was fetched stays
/// and can be looked at; setSource() with a new one starts over.
class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);
  ~Session() override;

  /// nullptr: no session (what was fetched stays). Another source: everything is cleared first.
  void setSource(Source* source);
  Source* source() const;
  bool live() const;  ///< a source is there and connected

  const protocol::Status& status() const;
  RecordNumber stoppedBefore() const;  ///< the record at the gate; 0: none, or it is stopped before a line
  quint64 stop() const;                ///< where it is stopped (protocol::stop_id); 0: it is not
  /// When the session began, in milliseconds since 1970, by which it is known again, also from a trace of it;
  /// 0: not known.
  qint64 started() const;

  /// The record that all views show; 0: none. While it follows, it is the newest interesting record: the
  /// pending one at the gate, else the last that finished. While a cell runs it moves at most ten times a
  /// second, and of the ops inside a VJP or custom gradient it is that VJP or custom gradient.
  RecordNumber cursor() const;
  bool following() const;
  /// The record before which the views' values are: the cursor, where it is in the past. 0: now.
  RecordNumber moment() const;
  RecordNumber recordCount() const;

  /// A record that was fetched (valid until control returns to the event loop); nullptr where it is not here
  /// yet: then it is requested, and recordsChanged follows.
  const protocol::Record* record(RecordNumber number);
  /// Only what is here, never sends a request.
  const protocol::Record* cachedRecord(RecordNumber number) const;
  /// What this session knows about a tensor from the records that are here.
  const protocol::TensorInfo* tensor(TensorId id) const;

  /// The branch beside the original, and which of the two the views show: tiles and statistics that they
  /// request are those of the one shown.
  const BranchLook& look() const;
  /// The tensor with the previews (small values) of the side that is shown. An empty preview is being
  /// fetched; previewsChanged follows.
  protocol::TensorInfo withShownPreview(protocol::TensorInfo tensor);
  protocol::Record withShownPreviews(protocol::Record record);

  using Answer = std::function<void(const protocol::Reply& reply)>;
  using Failed = std::function<void(const protocol::Failure& failure)>;
  using Progressed = std::function<void(const protocol::Progress& progress)>;

  /// Asks the session. `answer` is called once, later, on this thread, also with a Failure; where the session
  /// ends first, with a Failure of code "ended". It is never called when `context` goes first, when the
  /// same channel (one per view and purpose, "tensor/tile") asks anew or is dropped, or when another
  /// session begins. False where there is no session to ask: then it is not called either.
  /// `progressed`: called before it, now and then, where the answer takes long.
  bool request(const protocol::Request& message, QObject* context, Answer answer, const QString& channel = {},
               Progressed progressed = {});
  /// The same, for the kind of reply that is expected; `failed` gets everything else.
  template <class Expected>
  bool request(const protocol::Request& message, QObject* context,
               std::function<void(const Expected& reply)> answer, Failed failed, const QString& channel = {},
               Progressed progressed = {}) {
    return request(
        message, context,
        [answer = std::move(answer), failed = std::move(failed)](const protocol::Reply& reply) {
          if (const auto* expected = protocol::get_if<Expected>(&reply)) return answer(*expected);
          failed(failureOf(reply));
        },
        channel, std::move(progressed));
  }
  /// The channel's request is no longer wanted.
  void drop(const QString& channel);
  /// The channel's request is not answered yet.
  bool asking(const QString& channel) const;
  /// Asks for something to be done; failed() reports a Failure.
  void send(const protocol::Request& message);

  /// How many records are kept at most (default 100,000); the least recently used are dropped first, a page
  /// at a time.
  void setCacheLimit(int records);
  int cachedCount() const;

 public slots:
  /// Moves the cursor (clamped to 1 … recordCount) and stops following, unless it is the newest record. The
  /// next stop moves it there.
  void setCursor(tapedeck::inspector::RecordNumber number);
  void follow();
  void stepCursor(int delta);
  /// The user wants to see this tensor, whatever the cursor's record reads or makes: a view notifies the
  /// others.
  void pickTensor(const tapedeck::protocol::TensorInfo& tensor);
  /// As pickTensor(), for a tensor that the user's program knows by name. `variable`: it has other values at
  /// other moments.
  void pickNamed(const tapedeck::protocol::TensorInfo& tensor, bool variable);
  /// As pickTensor(), and this element of it: one index per axis; empty: none.
  void pickElement(const tapedeck::protocol::TensorInfo& tensor, const std::vector<std::int64_t>& element);
  /// Views fetch their values anew. A branch ends with its session.
  void setLook(const tapedeck::inspector::BranchLook& look);

  // Intents: sent to the session, which answers with a Status.
  void sendGate(tapedeck::protocol::GateCommand command);

 signals:
  void statusChanged();
  void liveChanged(bool live);
  void cursorChanged(tapedeck::inspector::RecordNumber number);
  /// The user chose the cursor's record, which may have been the cursor's before; after cursorChanged.
  void cursorChosen();
  /// Records [first, last] arrived or changed state.
  void recordsChanged(tapedeck::inspector::RecordNumber first, tapedeck::inspector::RecordNumber last);
  /// The program stopped: the record at the gate, or stop() before a line, above all records. 0: it
  /// continues.
  void stopped(tapedeck::inspector::RecordNumber number);
  void cleared();
  void lookChanged();
  void previewsChanged();
  void failed(const QString& reason);
  void tensorPicked(const tapedeck::protocol::TensorInfo& tensor);
  void namedPicked(const tapedeck::protocol::TensorInfo& tensor, bool variable);
  /// After tensorPicked.
  void elementPicked(const tapedeck::protocol::TensorInfo& tensor, const std::vector<std::int64_t>& element);

 private:
  /// The reply, or what is wrong with it.
  static protocol::Failure failureOf(const protocol::Reply& reply);
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
