#include "app/notebook/document/script.h"

#include <QRegularExpression>
#include <QStringDecoder>
#include <algorithm>

namespace tapedeck::app {
namespace {

constexpr char byte_order_mark[] = "\xEF\xBB\xBF";

QString decoded(const QByteArray& bytes, const QString& name) {
  QStringDecoder decoder(QStringDecoder::Utf8, QStringConverter::Flag::Stateless);
  QString text = decoder(bytes);
  if (const qsizetype zero = text.indexOf(QChar(0)); !decoder.hasError() && zero >= 0)
    throw NotebookError(QString("%1 is not a Python program: line %2 has a zero byte.")
                            .arg(name)
                            .arg(QStringView(text).left(zero).count('\n') + 1)
                            .toStdString());
  if (!decoder.hasError()) return text;
  int number = 1;  // of the first line that is none
  for (qsizetype begin = 0; begin < bytes.size(); ++number) {
    const qsizetype end = bytes.indexOf('\n', begin) < 0 ? bytes.size() : bytes.indexOf('\n', begin) + 1;
    QStringDecoder line(QStringDecoder::Utf8, QStringConverter::Flag::Stateless);
    (void)QString(line(QByteArrayView(bytes).sliced(begin, end - begin)));
    if (line.hasError()) break;
    begin = end;
  }
  throw NotebookError(QString("%1 is not a Python program in UTF-8: line %2 has invalid bytes.")
                          .arg(name)
                          .arg(number)
                          .toStdString());
}

bool isMarker(const QString& line) {
  static const QRegularExpression marker(QStringLiteral(R"(^#\s*%%(?!%))"));
  return marker.match(line).hasMatch();
}

CellType typeOf(const QString& marker) {
  if (marker.contains(QLatin1String("[markdown]")) || marker.contains(QLatin1String("[md]")))
    return CellType::markdown;
  return marker.contains(QLatin1String("[raw]")) ? CellType::raw : CellType::code;
}

/// Text cells stand in a program as comments.
QString uncommented(const QString& text) {
  QStringList lines = text.split('\n');
  for (QString& line : lines)
    if (line.startsWith(QLatin1String("# ")))
      line.remove(0, 2);
    else if (line == QLatin1String("#"))
      line.clear();
  return lines.join('\n');
}
QString commented(const QString& text) {
  QStringList lines = text.split('\n');
  for (QString& line : lines) line = line.isEmpty() ? QStringLiteral("#") : "# " + line;
  return lines.join('\n');
}

CellPointer cellOf(const QString& marker, const QString& body) {
  qsizetype end = body.size();
  while (end > 0 && body[end - 1] == '\n') --end;
  const CellType type = typeOf(marker);
  const QString text = body.left(end);
  CellPointer cell = makeCell(type, type == CellType::code ? text : uncommented(text));
  cell->script =
      std::make_shared<const ScriptText>(ScriptText{marker, text, body.mid(end), cell->cell.source, type});
  return cell;
}

QString markerFor(CellType type) {
  if (type == CellType::code) return QStringLiteral("# %%");
  return type == CellType::markdown ? QStringLiteral("# %% [markdown]") : QStringLiteral("# %% [raw]");
}

/// The cell's lines, from its marker on.
QString textOf(const CellData& data, bool first, bool last) {
  const Cell& cell = data.cell;
  const ScriptText* read = data.script.get();
  const bool same = read && read->type == cell.type;
  const QString body = same && read->source == cell.source ? read->text
                       : cell.type == CellType::code       ? cell.source
                                                           : commented(cell.source);
  QString marker = same ? read->marker : QString();
  // Without a line of its own a cell would be a part of the one above.
  if (marker.isEmpty() && !(first && cell.type == CellType::code)) marker = markerFor(cell.type) + '\n';
  if (!marker.isEmpty() && !marker.endsWith('\n') && !(last && body.isEmpty())) marker += '\n';
  QString tail = read             ? read->tail
                 : body.isEmpty() ? QString()
                 : last           ? QStringLiteral("\n")
                                  : QStringLiteral("\n\n");
  if (!last && !body.isEmpty() && tail.isEmpty()) tail = QStringLiteral("\n\n");  // it was the last one
  return marker + body + tail;
}

}  // namespace

bool isScript(const QString& path) {
  return path.endsWith(QLatin1String(".py"), Qt::CaseInsensitive);
}

NotebookData readScript(const QByteArray& bytes, const QString& name) {
  NotebookData notebook = emptyNotebook();
  ScriptStyle style;
  style.marked = bytes.startsWith(byte_order_mark);
  QString text = decoded(style.marked ? bytes.mid(3) : bytes, name);
  style.carriageReturns =
      text.contains(QLatin1String("\r\n")) && text.count(QLatin1String("\r\n")) == text.count('\n');
  if (style.carriageReturns) text.replace(QLatin1String("\r\n"), QLatin1String("\n"));
  notebook.script = style;

  QString marker, body;
  bool any = false;
  const auto close = [&] {
    if (any || !body.trimmed().isEmpty())
      notebook.cells.push_back(cellOf(marker, body));
    else if (!body.isEmpty())
      notebook.script->before = body;  // empty lines before the first cell
    body.clear();
  };
  for (qsizetype begin = 0; begin < text.size();) {
    const qsizetype newline = text.indexOf('\n', begin);
    const qsizetype end = newline < 0 ? text.size() : newline + 1;
    const QString line = text.mid(begin, end - begin);
    begin = end;
    if (!isMarker(line)) {
      body += line;
      continue;
    }
    close();
    any = true;
    marker = line;
  }
  close();
  if (notebook.cells.empty()) notebook.cells.push_back(makeCell(CellType::code, {}));
  return notebook;
}

NotebookData readDocument(const QByteArray& bytes, const QString& name, const Progress& progress) {
  return isScript(name) ? readScript(bytes, name) : readNotebook(bytes, name, progress);
}

QByteArray writeScript(const NotebookData& notebook) {
  const ScriptStyle style = notebook.script.value_or(ScriptStyle());
  QString text = style.before;
  for (std::size_t i = 0; i < notebook.cells.size(); ++i)
    text += textOf(*notebook.cells[i], i == 0, i + 1 == notebook.cells.size());
  if (style.carriageReturns) text.replace('\n', QLatin1String("\r\n"));
  return (style.marked ? QByteArray(byte_order_mark) : QByteArray()) + text.toUtf8();
}

}  // namespace tapedeck::app
