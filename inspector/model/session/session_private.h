// What a Session holds, for the files that implement it: requests, fetching records, and the cursor.
#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "inspector/model/session/record_cache.h"
#include "inspector/model/session/session.h"
#include "inspector/model/what_if/branch_previews.h"

namespace tapedeck::inspector {

struct Session::Private {
  explicit Private(Session* session);
  Session* q;

  QPointer<Source> source;
  const void* lastSource = nullptr;  ///< compared only: setSource(nullptr) must not look like another session
  bool live = false;
  bool wasConnected = false;
  /// Which process answered, by its Welcome: a source that reconnects may have another one behind it, or the
  /// same one after a silence. Zeros: the source passes no Welcome on.
  std::pair<quint64, qint64> process{0, 0};
  void isOf(const std::pair<quint64, qint64>& identity);
  protocol::Status status;

  // ---- requests (session_requests.cpp)
  struct Pending {
    QPointer<QObject> context;
    Answer answer;
    Progressed progressed;
    QString channel;
  };
  std::unordered_map<quint64, Pending> pending;
  std::map<QString, quint64> newestOfChannel;  ///< pending ones only
  Pending takePending(quint64 request);
  void answer(quint64 request, const protocol::Reply& reply);
  void answerEnded();
  void forgetRequests();

  // ---- original or branch (session_look.cpp)
  BranchLook look;
  BranchPreviews previews;
  void setLook(const BranchLook& next);
  protocol::Request forShownBranch(const protocol::Request& message) const;

  // ---- fetching (session_fetch.cpp)
  using Run = std::pair<RecordNumber, RecordNumber>;  ///< first and last
  RecordCache cache;
  std::deque<quint64> wanted;  ///< pages; the newest wish at the front
  std::set<std::uint64_t> stale;
  std::set<Run> flights;
  QTimer flushTimer;
  void want(RecordNumber number);
  void flush();
  bool inFlight(RecordNumber first, RecordNumber last) const;
  void flushIn(int milliseconds);
  void refreshOpen();
  void refreshTimes();
  bool timesTold = false;  ///< a GPU has reported times since the records here arrived
  std::optional<Run> takeStop();
  void takeRecords(const Run& run, const protocol::Records& records);
  void takeFailure(const Run& run, const protocol::Failure& failure);
  void clear();

  // ---- cursor (session.cpp)
  RecordNumber cursor = 0;
  bool following = true;
  RecordNumber candidate = 0;  ///< the record that following last aimed at
  bool aimedIdle = false;      ///< no cell ran then
  bool aiming = false;         ///< its record, or that of a parent, is being fetched
  QTimer followTimer;
  QElapsedTimer sinceFollowed;
  void moveCursor(RecordNumber number);
  void followStatus(bool now);
  void aim();
  void takeStatus(const protocol::Status& status);
  void takeStatusNow(const protocol::Status& status);
  bool stepping = false;  ///< a step was asked for where it stood, and that is what is still shown
  std::optional<protocol::Status> between;  ///< not reported yet: the next stop may follow at once
  QTimer betweenTimer;
  void setLive(bool on);
  void connectionChanged(bool connected);
  void take(quint64 request, const protocol::Reply& reply);
};

}  // namespace tapedeck::inspector
