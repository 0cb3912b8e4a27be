// A session whose searches in the past advance when the test says so; everything else passes through.
#pragma once

#include <deque>

#include "inspector/model/session/source.h"

namespace tapedeck::test {

class SlowSearch : public inspector::Source {
 public:
  explicit SlowSearch(inspector::Source* real) : real_(real) {
    connect(real, &Source::connectedChanged, this, &Source::connectedChanged);
    connect(real, &Source::refused, this, &Source::refused);
    connect(real, &Source::received, this, &Source::received);
  }

  quint64 request(const protocol::Request& message, const QString& channel) override {
    if (const auto* cancel = protocol::get_if<protocol::Cancel>(&message))
      std::erase(waiting_, cancel->request);
    if (!protocol::get_if<protocol::FindHit>(&message)) return real_->request(message, channel);
    const quint64 id = first_ + ++searches_;
    waiting_.push_back(id);
    return id;
  }
  bool connected() const override { return real_->connected(); }

  /// How often it was asked to search on.
  int searches() const { return static_cast<int>(searches_); }
  int waiting() const { return static_cast<int>(waiting_.size()); }
  /// That so many records were looked at, and nothing found; the search goes on from the record `next`.
  void answer(quint64 lookedAt, quint64 next, quint64 newest) {
    protocol::FoundHit none;
    none.looked_at = lookedAt;
    none.next = next;
    none.newest = newest;
    const quint64 id = waiting_.front();
    waiting_.pop_front();
    emit received(id, none);
  }

 private:
  static constexpr quint64 first_ = quint64{1} << 40;  // far from the real one's
  inspector::Source* real_;
  quint64 searches_ = 0;
  std::deque<quint64> waiting_;
};

}  // namespace tapedeck::test
