#include "inspector/model/breakpoints/condition_completion.h"

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::inspector {

namespace {

QStringList listOf(std::span<const std::string_view> names, const QString& behind = {}) {
  QStringList list;
  for (const std::string_view name : names)
    list << QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())) + behind;
  return list;
}

bool isWord(QChar letter) {
  return letter.isLetterOrNumber() || letter == u'_';
}

QStringList startingWords(bool filter) {
  QStringList all = listOf(protocol::part_names(), QStringLiteral(":"));
  QStringList flags = listOf(protocol::flag_names());
  if (!filter) flags.removeAll(QStringLiteral("bookmarked"));
  all << flags << listOf(protocol::number_names(), QStringLiteral(" > "));
  all << listOf(protocol::function_names(), QStringLiteral("("));
  for (const char* tensor : {"out.", "in0.", "any."}) all << QString::fromLatin1(tensor);
  all << QStringLiteral("and ") << QStringLiteral("or ") << QStringLiteral("not ");
  return all;
}

/// What may follow the text before the word.
QStringList wordsAfter(const QString& before, const QStringList& ops, bool filter) {
  const auto endsWith = [&](const char* text) {
    return before.endsWith(QLatin1String(text), Qt::CaseInsensitive);
  };
  if (endsWith("op:") || endsWith("op=")) return ops;
  if (endsWith("is:"))
    return {QStringLiteral("forward"), QStringLiteral("backward"), QStringLiteral("pending"),
            QStringLiteral("running"), QStringLiteral("done"),     QStringLiteral("failed")};
  if (endsWith("dtype:") || endsWith(".dtype == ") || endsWith(".dtype != "))
    return {QStringLiteral("float32"),  QStringLiteral("float64"), QStringLiteral("float16"),
            QStringLiteral("bfloat16"), QStringLiteral("int32"),   QStringLiteral("int64"),
            QStringLiteral("bool")};
  if (endsWith(".")) return listOf(protocol::property_names());
  if (endsWith(":") || endsWith("=")) return {};
  if (endsWith("("))
    for (const std::string_view name : protocol::function_names())
      if (endsWith((std::string(name) + "(").c_str()))
        return {QStringLiteral("out"),  QStringLiteral("out0"), QStringLiteral("in"),  QStringLiteral("in0"),
                QStringLiteral("grad"), QStringLiteral("any"),  QStringLiteral("abs(")};
  if (endsWith("abs("))
    return {QStringLiteral("out"), QStringLiteral("in0"), QStringLiteral("grad"), QStringLiteral("any")};
  return startingWords(filter);
}

}  // namespace

ConditionCompletion completeCondition(const QString& text, int cursor, const QStringList& ops, bool filter) {
  cursor = std::clamp(cursor, 0, static_cast<int>(text.size()));
  ConditionCompletion completion;
  completion.begin = cursor;
  while (completion.begin > 0 && isWord(text[completion.begin - 1])) --completion.begin;
  const QString before = text.left(completion.begin);
  if (before.count(u'"') % 2 == 1) return completion;  // in quotes everything is a word
  const QString word = text.mid(completion.begin, cursor - completion.begin);
  const bool asked =
      !before.isEmpty() && (before.back() == u':' || before.back() == u'(' || before.back() == u'.');
  if (word.isEmpty() && !asked) return completion;
  for (const QString& candidate : wordsAfter(before, ops, filter))
    if (candidate.startsWith(word, Qt::CaseInsensitive) && candidate != word) completion.words << candidate;
  return completion;
}

}  // namespace tapedeck::inspector
