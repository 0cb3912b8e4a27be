#include "inspector/model/what_if/set_change.h"

#include <QRegularExpression>
#include <QStringList>
#include <string_view>

#include "engine/protocol/change_set.h"

namespace tapedeck::inspector {

namespace {

QString changeWords(const protocol::SetChange& set) {
  static const QRegularExpression one_result(QStringLiteral("^out(\\d+)$"));
  const QString typed = QString::fromStdString(set.subject);
  const auto one = one_result.match(typed);
  const QString subject = typed == QLatin1String("out") ? QStringLiteral("results")
                          : one.hasMatch()              ? QStringLiteral("result %1").arg(one.captured(1))
                                                        : typed;
  const QString value = QString::fromStdString(set.value);
  switch (set.action) {
    case SetAction::scale:
      return QStringLiteral("%1 × %2").arg(subject, value);
    case SetAction::add:
      return value.startsWith(QLatin1Char('-')) ? QStringLiteral("%1 − %2").arg(subject, value.mid(1))
                                                : QStringLiteral("%1 + %2").arg(subject, value);
    case SetAction::set:
      return QStringLiteral("%1 = %2").arg(subject, value);
    case SetAction::clip:
      break;
  }
  return QStringLiteral("%1 clipped to ±%2").arg(subject, value);
}

}  // namespace

QString actionWords(SetAction action) {
  switch (action) {
    case SetAction::scale:
      return QStringLiteral("times");
    case SetAction::add:
      return QStringLiteral("plus");
    case SetAction::set:
      return QStringLiteral("becomes");
    case SetAction::clip:
      break;
  }
  return QStringLiteral("clipped to ±");
}

std::optional<BranchChange> setChangeOf(const protocol::SetChange& draft, SetProblem* problem) {
  const auto trimmed = [](const std::string& text) {
    return QString::fromStdString(text).trimmed().toStdString();
  };
  const auto wrong = [&](SetField field, const QString& sentence, int position = -1) {
    *problem = {field, sentence, position};
    return std::nullopt;
  };
  protocol::SetChange set{trimmed(draft.filter), trimmed(draft.subject), draft.action, trimmed(draft.value)};
  try {
    protocol::parse_set(draft.filter);
  } catch (const protocol::ConditionError& error) {
    const QString reason = QString::fromStdString(error.what());
    if (set.filter.empty()) return wrong(SetField::filter, reason);
    // Positions are bytes of UTF-8 there, and letters here.
    const int position = static_cast<int>(
        QString::fromUtf8(draft.filter.data(), static_cast<qsizetype>(error.position)).size());
    return wrong(
        SetField::filter,
        QStringLiteral("%1: %2").arg(
            QString::fromStdString("At" + protocol::place_text(draft.filter, error.position).substr(2)),
            reason),
        position);
  }
  if (set.subject.empty())
    return wrong(SetField::subject, QStringLiteral("Name an attribute or an input, such as learning_rate, "
                                                   "“out” for the results, or “out1” for one."));
  bool number = false;
  const double value = QString::fromStdString(set.value).toDouble(&number);
  if (set.value.empty()) return wrong(SetField::value, QStringLiteral("Type a number."));
  if (set.action != SetAction::set && !number)
    return wrong(SetField::value,
                 QStringLiteral("“%1” is not a number.").arg(QString::fromStdString(set.value)));
  if (set.action == SetAction::clip && !(value >= 0))
    return wrong(SetField::value,
                 QStringLiteral("Type a number of at least 0: values are clipped at plus and minus it."));
  BranchChange change;
  change.text = QStringLiteral("%1: %2").arg(QString::fromStdString(set.filter), changeWords(set));
  change.set = std::move(set);
  return change;
}

QStringList setSubjects(const protocol::Record& op) {
  QStringList names{QStringLiteral("learning_rate"), QStringLiteral("step_size"), QStringLiteral("out")};
  for (const auto& attribute : op.attributes)
    if (const QString name = QString::fromStdString(attribute.name); !names.contains(name)) names << name;
  for (std::size_t slot = 0; slot < op.inputs.size(); ++slot) names << QStringLiteral("in%1").arg(slot);
  if (op.outputs.size() > 1)
    for (std::size_t at = 0; at < op.outputs.size(); ++at) names << QStringLiteral("out%1").arg(at);
  return names;
}

}  // namespace tapedeck::inspector
