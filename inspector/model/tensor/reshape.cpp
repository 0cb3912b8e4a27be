#include "inspector/model/tensor/reshape.h"

#include <QRegularExpression>
#include <QStringList>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr qsizetype max_text = 200;
constexpr qsizetype max_axes = 32;  // as tensors may have
/// One image must fit into one answer of the session.
constexpr std::int64_t max_image_elements = 262'144;

Reshape fail(const QString& sentence) {
  Reshape result;
  result.error = sentence;
  return result;
}

QString elementsText(const std::vector<std::int64_t>& shape) {
  const std::int64_t count = elementCount(shape);
  return QStringLiteral("%1 has %2 element%3")
      .arg(shapeText(shape), countText(static_cast<quint64>(count)),
           count == 1 ? QString() : QStringLiteral("s"));
}

/// Sizes as written, -1 included; a sentence in `error` where the text is no shape.
std::vector<std::int64_t> readSizes(const QString& text, QString* error) {
  static const QRegularExpression brackets(QStringLiteral("^\\s*[\\(\\[](.*)[\\)\\]]\\s*$"));
  static const QRegularExpression separator(QStringLiteral("\\s*[,xX×*]\\s*|\\s+"));
  static const QRegularExpression number(QStringLiteral("^-?[0-9]{1,15}$"));
  QString inside = text;
  if (const auto match = brackets.match(text); match.hasMatch()) inside = match.captured(1);
  inside = inside.trimmed();
  if (inside.endsWith(QLatin1Char(','))) inside.chop(1);  // Python's "(784,)"
  const QStringList words = inside.trimmed().split(separator);
  std::vector<std::int64_t> sizes;
  for (const QString& word : words) {
    if (!number.match(word).hasMatch()) {
      *error = QStringLiteral("“%1” is not a shape: write sizes like 28×28×196 or (28, 28, -1)")
                   .arg(text.trimmed());
      return {};
    }
    sizes.push_back(word.toLongLong());
  }
  if (words.size() > max_axes)
    *error = QStringLiteral("%1 axes are too many: at most %2").arg(words.size()).arg(max_axes);
  return sizes;
}

std::optional<ImageGrid> readImages(const std::vector<std::int64_t>& sizes,
                                    const std::vector<std::int64_t>& shape) {
  if (sizes.size() != 2 || shape.size() != 2 || sizes[0] < 1 || sizes[1] < 1) return std::nullopt;
  const std::int64_t pixels = elementCount(sizes);
  if (pixels < 1) return std::nullopt;
  if (pixels == shape[0]) return ImageGrid{sizes[0], sizes[1], shape[1], true};
  if (pixels == shape[1]) return ImageGrid{sizes[0], sizes[1], shape[0], false};
  return std::nullopt;
}

Reshape checkSizes(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& shape) {
  const std::int64_t total = elementCount(shape);
  int open = -1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] < -1)
      return fail(QStringLiteral("axis %1 has size %2: sizes are not negative, and one may be -1")
                      .arg(axis)
                      .arg(sizes[axis]));
    if (sizes[axis] != -1) continue;
    if (open >= 0)
      return fail(QStringLiteral("axes %1 and %2 are both -1: only one may be").arg(open).arg(axis));
    open = static_cast<int>(axis);
  }
  if (open >= 0) {
    std::vector<std::int64_t> others = sizes;
    others.erase(others.begin() + open);
    const std::int64_t known = elementCount(others);
    if (known <= 0 || total % known != 0)
      return fail(QStringLiteral("%1, which is not a multiple of %2")
                      .arg(elementsText(shape),
                           known < 0 ? shapeText(others) : countText(static_cast<quint64>(known))));
    sizes[static_cast<std::size_t>(open)] = total / known;
  }
  const std::int64_t count = elementCount(sizes);
  if (count < 0) return fail(QStringLiteral("%1 is too large a shape").arg(shapeText(sizes)));
  if (count != total)
    return fail(QStringLiteral("%1, %2 has %3")
                    .arg(elementsText(shape), shapeText(sizes), countText(static_cast<quint64>(count))));
  Reshape result;
  result.shape = std::move(sizes);
  return result;
}

}  // namespace

Reshape parseReshape(const QString& text, const std::vector<std::int64_t>& shape) {
  if (text.trimmed().isEmpty()) return {};
  if (elementCount(shape) < 0) return fail(QStringLiteral("%1 can't be reshaped").arg(shapeText(shape)));
  if (text.size() > max_text)
    return fail(QStringLiteral("%1 characters are too many for a shape").arg(text.size()));
  QString error;
  std::vector<std::int64_t> sizes = readSizes(text, &error);
  if (!error.isEmpty()) return fail(error);
  if (elementCount(sizes) != elementCount(shape)) {
    if (auto images = readImages(sizes, shape)) {
      if (images->rows * images->columns > max_image_elements)
        return fail(QStringLiteral("images of %1 elements are too large: at most %2")
                        .arg(countText(static_cast<quint64>(images->rows * images->columns)),
                             countText(static_cast<quint64>(max_image_elements))));
      Reshape result;
      result.images = images;
      return result;
    }
  }
  return checkSizes(std::move(sizes), shape);
}

}  // namespace tapedeck::inspector
