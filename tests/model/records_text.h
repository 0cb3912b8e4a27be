// Sessions written as text, for the models' tests: one record a line, indented by two spaces for each record
// that it runs inside of.
//
//   op matmul(X:2x3, W:3x4) -> y:2x4 tape=1 cell=a:3
//   playback gradient(y) -> dW tape=1
//     vjp matmul(dy) -> dX, dW of=1 custom
//   op square(y) -> pending
//
// A tensor's shape is given once, as ":2x3", or with its value as ":=3" (a scalar). Names with a capital are
// variables. Outputs "pending", "running": not made yet. `0` is no tensor (a gradient that is None).
#pragma once

#include <QHash>
#include <QRegularExpression>
#include <QString>
#include <QStringList>
#include <stdexcept>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::test {

class RecordsText {
 public:
  std::vector<protocol::Record> records;

  explicit RecordsText(const char* text) {
    for (const QString& line : QString::fromUtf8(text).split(QLatin1Char('\n')))
      if (!line.trimmed().isEmpty()) readLine(line);
  }

  std::uint64_t id(const QString& name) const { return tensors_.value(name).id; }

 private:
  protocol::TensorInfo tensor(const QString& text, std::uint64_t producer) {
    const QString name = text.section(QLatin1Char(':'), 0, 0).trimmed();
    if (name == QLatin1String("0")) return {};
    const QString shape = text.section(QLatin1Char(':'), 1);
    protocol::TensorInfo& known = tensors_[name];
    if (known.id == 0) {
      known.id = 100 + static_cast<std::uint64_t>(tensors_.size());
      known.dtype = "float32";
      known.device = "/cpu:0";
      known.producer = producer;
      if (name.at(0).isUpper()) known.name = (name + QStringLiteral(":0")).toStdString();
    }
    if (shape.startsWith(QLatin1Char('='))) {
      known.preview = shape.mid(1).toStdString();
    } else if (!shape.isEmpty()) {
      known.shape.clear();
      for (const QString& size : shape.split(QLatin1Char('x'))) known.shape.push_back(size.toLongLong());
    }
    return known;
  }

  std::vector<protocol::TensorInfo> list(const QString& text, std::uint64_t producer) {
    std::vector<protocol::TensorInfo> result;
    for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts))
      if (!part.trimmed().isEmpty()) result.push_back(tensor(part.trimmed(), producer));
    return result;
  }

  void readLine(const QString& line) {
    static const QRegularExpression pattern(
        QStringLiteral("^( *)(op|custom|playback|vjp) ([\\w.]+)\\((.*)\\) ->\\s*(.*)$"));
    static const QRegularExpression option(
        QStringLiteral("\\s(tape|of|cell|scope|at)=(\\S+)|\\s(custom|failed)\\b"));
    const auto match = pattern.match(line);
    if (!match.hasMatch()) throw std::runtime_error("not a record: " + line.toStdString());
    protocol::Record record;
    record.number = records.size() + 1;
    record.depth = static_cast<std::uint32_t>(match.captured(1).size() / 2);
    around_.resize(record.depth);
    if (!around_.empty()) {
      const protocol::Record& parent = records[around_.back() - 1];
      record.parent = parent.number;
      record.backward = parent.backward;
    }
    const QString kind = match.captured(2);
    record.kind = kind == QLatin1String("custom")     ? protocol::RecordKind::custom
                  : kind == QLatin1String("playback") ? protocol::RecordKind::playback
                  : kind == QLatin1String("vjp")      ? protocol::RecordKind::vjp
                                                      : protocol::RecordKind::op;
    if (record.kind == protocol::RecordKind::playback) record.backward = true;
    record.op = match.captured(3).toStdString();
    record.inputs = list(match.captured(4), 0);
    QString outputs = QLatin1Char(' ') + match.captured(5);
    for (auto options = option.globalMatch(outputs); options.hasNext();) readOption(options.next(), &record);
    outputs = outputs.remove(option).trimmed();
    if (outputs == QLatin1String("pending") || outputs == QLatin1String("running")) {
      record.state = outputs == QLatin1String("pending") ? protocol::RecordState::pending
                                                         : protocol::RecordState::running;
      protocol::TensorInfo later;
      later.dtype = "float32";
      record.outputs = {later};
    } else {
      record.outputs = list(outputs, record.number);
      record.duration_ns = 10;
    }
    around_.push_back(record.number);
    records.push_back(std::move(record));
  }

  static void readOption(const QRegularExpressionMatch& option, protocol::Record* record) {
    const QString key = option.captured(1), value = option.captured(2);
    if (key == QLatin1String("tape")) record->tape = value.toULongLong();
    if (key == QLatin1String("of")) record->forward = value.toULongLong();
    if (key == QLatin1String("scope")) record->scope = value.toStdString();
    if (key == QLatin1String("at")) record->start_ns = value.toLongLong();
    if (key == QLatin1String("cell")) {
      record->cell = value.section(QLatin1Char(':'), 0, 0).toStdString();
      record->line = value.section(QLatin1Char(':'), 1).toUInt();
    }
    if (option.captured(3) == QLatin1String("custom")) record->custom_gradient = true;
    if (option.captured(3) == QLatin1String("failed")) record->state = protocol::RecordState::failed;
  }

  QHash<QString, protocol::TensorInfo> tensors_;
  std::vector<std::uint64_t> around_;
};

}  // namespace tapedeck::test
