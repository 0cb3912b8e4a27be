#include "app/control/program_sources.h"

#include <QFile>
#include <QFileInfo>
#include <QStringDecoder>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

constexpr qint64 longestFile = 16 << 20;

}  // namespace

ProgramSources::ProgramSources(Document* document, const QString& file, const QDateTime& started,
                               QObject* parent)
    : QObject(parent), document_(document), started_(started) {
  NotebookData program = emptyNotebook();
  QString source;
  if (!file.isEmpty() && read(file, source)) {
    CellPointer cell = makeCell(CellType::code, source);
    cell->cell.id = file;
    program.cells.push_back(std::move(cell));
  } else {
    const QString why = file.isEmpty()
                            ? QString("This program's code is not in a file: its lines can't be shown.")
                            : QString("%1 can't be read: its lines can't be shown.").arg(file);
    program.cells.push_back(makeCell(CellType::markdown, why));
  }
  document_->lock();
  document_->take(std::move(program), {}, {});
}

bool ProgramSources::read(const QString& path, QString& source) {
  tried_ << path;
  // A pipe, or a terminal (python3 /dev/stdin), would be waited for.
  if (!QFileInfo(path).isFile()) return false;
  QFile file(path);
  if (file.size() > longestFile || !file.open(QIODevice::ReadOnly)) return false;
  QStringDecoder decoder(QStringDecoder::Utf8);
  source = decoder(file.readAll());
  if (decoder.hasError()) return false;
  source.replace(QLatin1String("\r\n"), QLatin1String("\n"));
  while (source.endsWith('\n')) source.chop(1);
  if (started_.isValid() && QFileInfo(path).lastModified() > started_) newer_ << QFileInfo(path).fileName();
  return true;
}

void ProgramSources::show(const QString& cell) {
  if (!cell.startsWith('/') || tried_.contains(cell)) return;
  QString source;
  if (read(cell, source)) document_->append(cell, source);
}

QString ProgramSources::doubt() const {
  if (newer_.isEmpty()) return {};
  return QString("%1 was changed after the program started: the lines shown may not be those that run.")
      .arg(newer_.join(", "));
}

}  // namespace tapedeck::app
