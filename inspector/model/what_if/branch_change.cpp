#include "inspector/model/what_if/branch_change.h"

#include <QRegularExpression>
#include <QStringList>
#include <cmath>
#include <limits>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_words = 40;  ///< characters of a typed value that messages quote

QString nameOf(const ChangeSubject& subject) {
  const QString name = QString::fromStdString(subject.tensor.name);
  if (!name.isEmpty()) return name;
  if (subject.tensor.producer && subject.tensor.producer == subject.op.number)
    return QStringLiteral("the result of %1").arg(opWords(subject.op));
  if (subject.tensor.producer)
    return QStringLiteral("the result of op %1").arg(countText(subject.tensor.producer));
  for (std::size_t slot = 0; slot < subject.op.inputs.size(); ++slot)
    if (subject.op.inputs[slot].id == subject.tensor.id)
      return subject.op.inputs.size() == 1
                 ? QStringLiteral("the input of %1").arg(opWords(subject.op))
                 : QStringLiteral("input %1 of %2").arg(QString::number(slot), opWords(subject.op));
  return QStringLiteral("a constant");
}

QString shortened(QString text) {
  text = text.simplified();
  return text.size() > most_words ? text.left(most_words - 1) + QChar(0x2026) : text;
}

std::optional<double> numberIn(const QString& text) {
  if (text == QLatin1String("True")) return 1;
  if (text == QLatin1String("False")) return 0;
  bool good = false;
  const double number = text.toDouble(&good);  // also nan, inf and -inf
  return good ? std::optional(number) : std::nullopt;
}

bool isWhole(const std::string& dtype) {
  return dtype.find("int") != std::string::npos;
}

/// What is wrong with a number for tensors of that dtype; empty: nothing.
QString refusalOf(double number, const QString& text, const std::string& dtype) {
  if (dtype == "bool" && number != 0 && number != 1)
    return QStringLiteral("%1 is neither True nor False").arg(text);
  if (isWhole(dtype) && number != std::trunc(number))
    return QStringLiteral("%1 is not an integer, and the tensor is of %2")
        .arg(text, QString::fromStdString(dtype));
  if (dtype.starts_with("uint") && number < 0)
    return QStringLiteral("%1 is below zero, and the tensor is of %2")
        .arg(text, QString::fromStdString(dtype));
  return {};
}

/// Every number of a text with brackets and commas; nothing, and what is wrong.
std::optional<std::vector<double>> numbersIn(const QString& text, const std::string& dtype, QString* wrong) {
  static const QRegularExpression between(QStringLiteral("[\\s,;\\[\\]()]+"));
  std::vector<double> numbers;
  for (const QString& word : text.split(between, Qt::SkipEmptyParts)) {
    const auto number = numberIn(word);
    *wrong = number ? refusalOf(*number, word, dtype)
                    : QStringLiteral("“%1” is not a number").arg(shortened(word));
    if (!wrong->isEmpty()) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty()) *wrong = QStringLiteral("type a number");
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

std::optional<std::vector<std::int64_t>> elementIn(const QString& text,
                                                   const std::vector<std::int64_t>& shape, QString* wrong) {
  QString bare = text;
  bare.remove(QLatin1Char('[')).remove(QLatin1Char(']')).remove(QLatin1Char('(')).remove(QLatin1Char(')'));
  const QStringList places = bare.split(QLatin1Char(','), Qt::SkipEmptyParts);
  if (places.size() != static_cast<qsizetype>(shape.size())) {
    *wrong = QStringLiteral("type %1 for the shape %2, not %3")
                 .arg(shape.size() == 1 ? QStringLiteral("1 place")
                                        : QStringLiteral("%1 places").arg(shape.size()))
                 .arg(shapeText(shape))
                 .arg(places.size());
    return std::nullopt;
  }
  std::vector<std::int64_t> element;
  for (qsizetype axis = 0; axis < places.size(); ++axis) {
    bool whole = false;
    const qint64 extent = shape[static_cast<std::size_t>(axis)];
    qint64 at = places[axis].trimmed().toLongLong(&whole);
    if (at < 0) at += extent;  // as Python counts
    if (!whole || at < 0 || at >= extent) {
      *wrong =
          QStringLiteral("“%1” is not an index on an axis of %2").arg(places[axis].trimmed()).arg(extent);
      return std::nullopt;
    }
    element.push_back(at);
  }
  return element;
}

QString placeText(const std::vector<std::int64_t>& element) {
  QStringList places;
  for (const std::int64_t at : element) places << QString::number(at);
  return places.isEmpty() ? QString() : QStringLiteral("[%1]").arg(places.join(QStringLiteral(", ")));
}

/// Fills what the kind needs; false, and the problem.
class Reader {
 public:
  Reader(const ChangeDraft& draft, const ChangeSubject& subject, ChangeProblem* problem)
      : draft_(draft), subject_(subject), problem_(problem) {}

  bool read(protocol::PastChange* change, QString* text) {
    change->kind = draft_.kind;
    if (draft_.kind == ChangeKind::value || draft_.kind == ChangeKind::element) {
      change->tensor = subject_.tensor.id;
      return draft_.kind == ChangeKind::value ? readValue(change, text) : readElement(change, text);
    }
    change->record = subject_.op.number;
    return draft_.kind == ChangeKind::attribute ? readAttribute(change, text) : readInstead(change, text);
  }

 private:
  bool wrong(ChangeField field, const QString& sentence) {
    *problem_ = {field, sentence.left(1).toUpper() + sentence.mid(1) + QLatin1Char('.')};
    return false;
  }

  bool readNumbers(const std::string& dtype, std::vector<double>* numbers) {
    QString reason;
    const auto found = numbersIn(draft_.numbers, dtype, &reason);
    if (!found) return wrong(ChangeField::numbers, reason);
    *numbers = *found;
    return true;
  }

  bool oneNumber(const std::vector<double>& numbers) {
    return numbers.size() == 1 ||
           wrong(ChangeField::numbers, QStringLiteral("type one number, not %1").arg(numbers.size()));
  }

  bool readValue(protocol::PastChange* change, QString* text) {
    if (!readNumbers(subject_.tensor.dtype, &change->numbers)) return false;
    const std::int64_t count = elementCount(subject_.tensor.shape);
    if (change->numbers.size() != 1 && static_cast<std::int64_t>(change->numbers.size()) != count)
      return wrong(ChangeField::numbers,
                   QStringLiteral("type one number for all, or %1 of them for the shape %2, not %3")
                       .arg(countText(static_cast<quint64>(std::max<std::int64_t>(count, 0))),
                            shapeText(subject_.tensor.shape))
                       .arg(change->numbers.size()));
    *text = QStringLiteral("%1 = %2").arg(nameOf(subject_), shortened(draft_.numbers));
    if (change->numbers.size() == 1 && count > 1) *text += QStringLiteral(" everywhere");
    return true;
  }

  bool readElement(protocol::PastChange* change, QString* text) {
    QString reason;
    const auto element = elementIn(draft_.element, subject_.tensor.shape, &reason);
    if (!element) return wrong(ChangeField::element, reason);
    if (!readNumbers(subject_.tensor.dtype, &change->numbers) || !oneNumber(change->numbers)) return false;
    change->element = *element;
    *text = (subject_.tensor.name.empty() ? QStringLiteral("%1: %2 = %3") : QStringLiteral("%1%2 = %3"))
                .arg(nameOf(subject_), placeText(*element), shortened(draft_.numbers));
    return true;
  }

  bool readAttribute(protocol::PastChange* change, QString* text) {
    const QString setting = draft_.setting.trimmed();
    if (draft_.attribute.isEmpty())
      return wrong(ChangeField::attribute, QStringLiteral("choose an attribute"));
    if (setting.isEmpty())
      return wrong(ChangeField::setting, QStringLiteral("type a value, as Python writes it"));
    change->attribute = draft_.attribute.toStdString();
    change->text = setting.toStdString();
    *text = QStringLiteral("%1: %2 = %3").arg(opWords(subject_.op), draft_.attribute, shortened(setting));
    return true;
  }

  bool readInstead(protocol::PastChange* change, QString* text) {
    const QString op = opWords(subject_.op);
    if (draft_.kind == ChangeKind::skip) {
      *text = QStringLiteral("%1 skipped").arg(op);
      return true;
    }
    QString result = QStringLiteral("result of %1").arg(op);
    if (draft_.result >= 0) {
      if (!resultsFor(subject_, draft_.kind).contains(draft_.result))
        return wrong(ChangeField::result, QStringLiteral("%1 has no result %2").arg(op).arg(draft_.result));
      change->result = static_cast<std::uint64_t>(draft_.result);
      result = QStringLiteral("result %1 of %2").arg(draft_.result).arg(op);
    }
    if (draft_.kind == ChangeKind::zero) {
      *text = QStringLiteral("%1 = 0").arg(result);
      return true;
    }
    if (!readNumbers({}, &change->numbers) || !oneNumber(change->numbers)) return false;
    const QString number = shortened(draft_.numbers);
    if (draft_.kind == ChangeKind::scale) {
      *text = QStringLiteral("%1 × %2").arg(result, number);
      return true;
    }
    if (!(change->numbers[0] >= 0))
      return wrong(ChangeField::numbers,
                   QStringLiteral("type a number of at least 0: results are clipped at plus and minus it"));
    *text = QStringLiteral("%1 clipped to ±%2").arg(result, number);
    return true;
  }

  const ChangeDraft& draft_;
  const ChangeSubject& subject_;
  ChangeProblem* problem_;
};

}  // namespace

ChangeSubject changeSubjectOf(const Session& session, const WhySubject& pointed) {
  ChangeSubject subject;
  subject.tensor = pointed.tensor;
  subject.element = pointed.element;
  for (const RecordNumber number : {pointed.record, static_cast<RecordNumber>(pointed.tensor.producer)}) {
    const protocol::Record* record = session.cachedRecord(number);
    if (!record || record->kind != protocol::RecordKind::op || record->state != protocol::RecordState::done)
      continue;
    subject.op = *record;
    break;
  }
  return subject;
}

QString opWords(const protocol::Record& op) {
  return QStringLiteral("%1, op %2").arg(QString::fromStdString(op.op), countText(op.number));
}

QString tensorWords(const ChangeSubject& subject) {
  return QStringLiteral("%1 (%2 %3)")
      .arg(nameOf(subject), QString::fromStdString(subject.tensor.dtype), shapeText(subject.tensor.shape));
}

QList<ChangeKind> changesFor(const ChangeSubject& subject) {
  QList<ChangeKind> kinds;
  if (subject.tensor.id) {
    if (elementCount(subject.tensor.shape) > 1) kinds << ChangeKind::element;
    kinds << ChangeKind::value;
  }
  if (subject.op.number) {
    if (!subject.op.attributes.empty()) kinds << ChangeKind::attribute;
    kinds << ChangeKind::skip << ChangeKind::zero << ChangeKind::scale << ChangeKind::clip;
  }
  return kinds;
}

QList<int> resultsFor(const ChangeSubject& subject, ChangeKind kind) {
  QList<int> results;
  const bool any = kind == ChangeKind::zero || kind == ChangeKind::scale || kind == ChangeKind::clip;
  if (!any || subject.op.outputs.size() < 2) return results;
  for (std::size_t at = 0; at < subject.op.outputs.size(); ++at)
    if (subject.op.outputs[at].id) results << static_cast<int>(at);
  return results;
}

QString resultWords(const ChangeSubject& subject, int result) {
  const protocol::TensorInfo& tensor = subject.op.outputs[static_cast<std::size_t>(result)];
  return QStringLiteral("result %1 (%2 %3)")
      .arg(QString::number(result), QString::fromStdString(tensor.dtype), shapeText(tensor.shape));
}

QString kindWords(ChangeKind kind, const ChangeSubject& subject) {
  const QString tensor = nameOf(subject), op = opWords(subject.op);
  switch (kind) {
    case ChangeKind::value:
      return QStringLiteral("Set %1").arg(tensor);
    case ChangeKind::element:
      return QStringLiteral("Set one element of %1").arg(tensor);
    case ChangeKind::attribute:
      return QStringLiteral("Set an attribute of %1").arg(op);
    case ChangeKind::skip:
      return QStringLiteral("Skip %1").arg(op);
    case ChangeKind::zero:
      return QStringLiteral("Set the result of %1 to zero").arg(op);
    case ChangeKind::scale:
      return QStringLiteral("Scale the result of %1").arg(op);
    case ChangeKind::clip:
      break;
  }
  return QStringLiteral("Clip the result of %1").arg(op);
}

std::optional<BranchChange> changeOf(const ChangeDraft& draft, const ChangeSubject& subject,
                                     ChangeProblem* problem) {
  BranchChange change;
  change.subject = subject;
  change.draft = draft;
  if (!Reader(draft, subject, problem).read(&change.change, &change.text)) return std::nullopt;
  return change;
}

}  // namespace tapedeck::inspector
