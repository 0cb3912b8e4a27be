#include "inspector/model/what_if/set_change.h"

#include <QStringList>
#include <string_view>

#include "engine/protocol/change_set.h"

namespace tapedeck::inspector {

namespace {

QString changeWords(const protocol::SetChange& set) {
  const QString subject =
      set.subject == "out" ? QStringLiteral("results") : QString::fromStdString(set.subject);
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
    return wrong(
        SetField::subject,
        QStringLiteral("Name an attribute or an input, such as learning_rate, or “out” for the results."));
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
  return names;
}

}  // namespace tapedeck::inspector
