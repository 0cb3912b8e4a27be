#include "tests/model/fake_source.h"

#include <QTimer>
#include <algorithm>

#include "engine/protocol/record_filter.h"
#include "tests/model/tape_part.h"

namespace tapedeck::test {

FakeSource::FakeSource(std::vector<protocol::Record> trace) : records(std::move(trace)) {
  status.records = records.size();
  for (const auto& record : records)
    if (record.state == protocol::RecordState::done) status.finished = record.number;
}
FakeSource::~FakeSource() = default;

quint64 FakeSource::request(const protocol::Request& message, const QString& channel) {
  const quint64 id = ++last_;
  if (!channel.isEmpty())
    std::erase_if(waiting, [&](const Asked& older) { return older.channel == channel; });
  asked.push_back({id, channel, message});
  if (const auto* cancel = protocol::get_if<protocol::Cancel>(&message)) {
    std::erase_if(waiting, [&](const Asked& older) { return older.id == cancel->request; });
    return id;
  }
  waiting.push_back(asked.back());
  if (automatic) QTimer::singleShot(0, this, [this] { answerAll(); });
  return id;
}

void FakeSource::answerNext() {
  const Asked next = waiting.front();
  waiting.erase(waiting.begin());
  if (!up) return;
  emit received(next.id, replyTo(next.message));
}

void FakeSource::sendStatus() {
  emit received(0, status);
}

protocol::Reply FakeSource::replyTo(const protocol::Request& message) {
  if (const auto* get = protocol::get_if<protocol::GetRecords>(&message)) {
    protocol::Records page;
    page.total = records.size();
    for (quint64 n = get->first; n < get->first + get->count && n <= records.size(); ++n)
      page.records.push_back(records[n - 1]);
    return page;
  }
  if (const auto* get = protocol::get_if<protocol::GetLostRecords>(&message)) {
    protocol::LostRecords answer{status.values_lost, {}};
    for (const std::uint64_t number : get->records)
      if (std::find(lost.begin(), lost.end(), number) != lost.end()) answer.records.push_back(number);
    return answer;
  }
  if (const auto* find = protocol::get_if<protocol::FindRecords>(&message)) return answerFind(*find);
  if (const auto* get = protocol::get_if<protocol::GetTape>(&message)) {
    std::vector<protocol::Record> tape;
    for (const auto& record : records)
      if (record.number <= get->last.value_or(records.size()) && onTape(record, get->tape))
        tape.push_back(record);
    return tapePart(tape, *get);
  }
  if (const auto* get = protocol::get_if<protocol::GetSeries>(&message)) {
    protocol::Series series;
    const std::size_t end = std::min<std::size_t>(points.size(), get->first + 10'000);
    for (std::size_t at = get->first; at < end; ++at) series.points.push_back(points[at]);
    series.next = end;
    return series;
  }
  if (const auto* get = protocol::get_if<protocol::GetPictures>(&message)) {
    protocol::Pictures answer;
    answer.restarted = std::exchange(restarted, {});
    for (std::size_t at = get->first; at < pictures.size(); ++at) answer.pictures.push_back(pictures[at]);
    answer.next = pictures.size();
    return answer;
  }
  if (protocol::holds_alternative<protocol::GetTile>(message) ||
      protocol::holds_alternative<protocol::GetStatistics>(message) ||
      protocol::holds_alternative<protocol::GetVjp>(message) ||
      protocol::holds_alternative<protocol::ExplainElement>(message)) {
    if (tensors) return tensors(message);
    return protocol::Failure{"There is no such tensor.", "no_such_tensor"};
  }
  const bool asksHost = protocol::visit(
      []<class Message>(const Message&) {
        return std::is_constructible_v<
            std::variant<protocol::GetFrames, protocol::GetVariables, protocol::Evaluate, protocol::Assign,
                         protocol::Complete, protocol::HoldValue, protocol::SummarizeValue>,
            Message>;
      },
      message);
  if (asksHost) return host ? host(message) : protocol::Failure{"There is no Python here.", "bad_request"};
  return status;
}

protocol::FoundRecords FakeSource::answerFind(const protocol::FindRecords& find) const {
  const protocol::Condition filter = protocol::parse_filter(find.filter);
  protocol::FoundRecords found;
  const auto look = [&](quint64 number) {
    const protocol::Record& record = records[number - 1];
    if (record.state == protocol::RecordState::pending || record.state == protocol::RecordState::running)
      found.open.push_back(number);
    return find.backward.value_or(record.backward) == record.backward &&
           protocol::matches(filter, record, find.labels, find.bookmarked);
  };
  found.total = records.size();
  found.scanned = std::min<quint64>(records.size(), find.first + 999);
  for (const quint64 number : find.again)
    if (look(number)) found.again.push_back(number);
  for (quint64 number = find.first; number <= found.scanned; ++number)
    if (look(number)) found.runs.insert(found.runs.end(), {number, number});
  return found;
}

bool FakeSource::onTape(const protocol::Record& record, quint64 tape) const {
  const protocol::Record* at = &record;
  while (insideOfTapes && !at->tape && at->parent) at = &records[at->parent - 1];
  return at->tape == tape;
}

}  // namespace tapedeck::test
