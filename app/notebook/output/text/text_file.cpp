#include "app/notebook/output/text/text_file.h"

#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QPointer>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QUrl>

#include "app/notebook/output/text/ansi.h"
#include "app/notebook/output/text/terminal_text.h"

namespace tapedeck::app {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// Of this user alone, and removed with what is in it when the program ends.
QString folder() {
  static const QTemporaryDir own(QDir::tempPath() + "/tapedeck-output-XXXXXX");
  return own.isValid() ? own.path() : QString();
}

/// What kept it from being written; empty: nothing.
QString write(const PrintedText& text, const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly | QIODevice::NewOnly, QFile::ReadOwner | QFile::WriteOwner))
    return file.errorString();
  AnsiParser parser;
  for (std::size_t begin = 0; begin < text.size();) {
    std::string piece = text.bytes(begin, begin + piece_bytes);
    // Up to a line's end: no character and no sequence is cut.
    const std::size_t line = piece.rfind('\n');
    if (begin + piece.size() < text.size() && line != std::string::npos) piece.resize(line + 1);
    begin += std::max<std::size_t>(1, piece.size());
    QByteArray plain;
    for (const AnsiRun& run : parser.parse(terminalString(piece))) plain += run.text.toUtf8();
    if (file.write(plain) != plain.size()) return file.errorString();
  }
  return file.flush() ? QString() : file.errorString();
}

}  // namespace

void openInEditor(const PrintedText& text, QObject* context, std::function<void(const QString&)> tell) {
  static int number = 0;
  const QString where = folder();
  if (where.isEmpty()) return tell("No file can be written in " + QDir::tempPath() + ".");
  const QString path = where + QString("/output-%1.txt").arg(++number);
  tell("Writing …");
  QThreadPool::globalInstance()->start([text, path, context = QPointer<QObject>(context), tell] {
    const QString failure = write(text, path);
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [failure, path, context, tell] {
          QString sentence;
          if (!failure.isEmpty())
            sentence = QString("%1 could not be written: %2.").arg(path, failure);
          else if (!QDesktopServices::openUrl(QUrl::fromLocalFile(path)))
            sentence = QString("No program is set up to open text files here; the text is in %1.").arg(path);
          else
            sentence = QString("Opened %1.").arg(path);
          if (!failure.isEmpty()) QFile::remove(path);
          if (context != nullptr) tell(sentence);
        },
        Qt::QueuedConnection);
  });
}

}  // namespace tapedeck::app
