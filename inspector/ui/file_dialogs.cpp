#include "inspector/ui/file_dialogs.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSaveFile>
#include <QSettings>
#include <QWidget>

#include "inspector/ui/confirm.h"

namespace tapedeck::inspector {
namespace {

constexpr char last_folder[] = "files/last_folder";

QString folderFor(const QWidget* asking) {
  for (const QWidget* widget = asking; widget; widget = widget->parentWidget()) {
    const QString file = widget->windowFilePath();
    if (!file.isEmpty()) return QFileInfo(file).absolutePath();
  }
  const QString last = QSettings().value(last_folder).toString();
  return !last.isEmpty() && QFileInfo(last).isDir() ? last : QDir::homePath();
}

/// "svg" of "SVG (*.svg);;PNG (*.png)".
QString suffixOf(const QString& filter) {
  static const QRegularExpression pattern("\\*\\.(\\w+)");
  return pattern.match(filter).captured(1);
}

}  // namespace

QString suggestedPath(const QWidget* asking, const QString& name) {
  return QDir(folderFor(asking)).filePath(name);
}

void rememberFolder(const QString& path) {
  QSettings().setValue(last_folder, QFileInfo(path).absolutePath());
}

// Qt's own default suffix is not relied upon: it leaves "plots" alone where there is a file "plots.svg". Nor
// is its question about replacing, which could take a file's name for HTML.
QString askForPath(QWidget* asking, const QString& title, const QString& name, const QString& filter) {
  QString begin = suggestedPath(asking, name);
  while (true) {
    QString chosen;
    QString path = QFileDialog::getSaveFileName(asking, title, begin, filter, &chosen,
                                                QFileDialog::DontConfirmOverwrite);
    if (path.isEmpty()) return {};
    if (QFileInfo(path).suffix().isEmpty()) path += "." + suffixOf(chosen.isEmpty() ? filter : chosen);
    const QString question =
        QString("%1 already exists. Do you want to replace it?").arg(QFileInfo(path).fileName());
    if (QFileInfo::exists(path) && !confirm(asking, title, question, "&Replace it")) {
      begin = path;
      continue;
    }
    rememberFolder(path);
    return path;
  }
}

bool replaceFile(const QString& path, const QByteArray& bytes, QString* error) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return true;
  if (error) *error = QString("%1 could not be written: %2.").arg(path, file.errorString());
  return false;
}

}  // namespace tapedeck::inspector
