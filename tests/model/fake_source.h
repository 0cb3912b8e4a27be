// A session for tests: answers from records in memory on request, and keeps the requests.
#pragma once

#include <QtTest>
#include <algorithm>
#include <functional>
#include <vector>

#include "inspector/model/session/source.h"
#include "tests/patience.h"

namespace tapedeck::test {

class FakeSource : public inspector::Source {
 public:
  struct Asked {
    quint64 id;
    QString channel;
    protocol::Request message;
  };
  std::vector<protocol::Record> records;
  protocol::Status status;
  std::vector<protocol::SeriesPoint> points;
  std::vector<protocol::Picture> pictures;
  std::vector<std::uint64_t> lost;     ///< records whose values are lost
  std::vector<std::string> restarted;  ///< names that the next pictures make void
  std::vector<Asked> asked;            ///< everything, in order
  std::vector<Asked> waiting;          ///< not answered yet
  bool automatic = true;               ///< answers by itself from the event loop
  bool up = true;
  bool insideOfTapes = true;  ///< GetTape also gives what ran inside of a tape's records
  /// Answers what the records can't; nothing: Failure "no_such_tensor".
  std::function<protocol::Reply(const protocol::Request&)> tensors;
  /// Answers about variables and frames; nothing: Failure "bad_request".
  std::function<protocol::Reply(const protocol::Request&)> host;

  explicit FakeSource(std::vector<protocol::Record> trace = {});
  ~FakeSource() override;

  quint64 request(const protocol::Request& message, const QString& channel) override;
  bool connected() const override { return up; }

  void answerAll() {
    while (!waiting.empty()) answerNext();
  }
  void answerNext();
  /// Waits for a request of that kind, and answers the oldest.
  template <class Message>
  void answer(const protocol::Reply& reply) {
    const auto isIt = [](const Asked& one) { return protocol::holds_alternative<Message>(one.message); };
    QTRY_VERIFY(std::ranges::any_of(waiting, isIt));
    const auto found = std::ranges::find_if(waiting, isIt);
    const quint64 id = found->id;
    waiting.erase(found);
    emit received(id, reply);
  }
  void sendStatus();
  /// The gate stops before the newest record, which is pending.
  void stopAtNewest(const char* reason = "step") {
    status.records = records.size();
    status.finished = status.records - 1;
    status.gate = protocol::GateState::stopped;
    status.stopped_before = status.records;
    status.stop_reason = reason;
    sendStatus();
  }
  void setUp(bool on) {
    up = on;
    if (!on) waiting.clear();
    emit connectedChanged(on);
  }

  template <class Message>
  std::vector<Message> askedFor() const {
    std::vector<Message> result;
    for (const Asked& one : asked)
      if (const auto* message = protocol::get_if<Message>(&one.message)) result.push_back(*message);
    return result;
  }
  /// The number of requests of that kind so far.
  template <class Message>
  std::size_t count() const {
    return askedFor<Message>().size();
  }

 private:
  protocol::Reply replyTo(const protocol::Request& message);
  /// A thousand records an answer.
  protocol::FoundRecords answerFind(const protocol::FindRecords& find) const;
  bool onTape(const protocol::Record& record, quint64 tape) const;

  quint64 last_ = 0;
};

}  // namespace tapedeck::test
