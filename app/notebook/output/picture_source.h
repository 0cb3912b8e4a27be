// Where the pictures of a text come from: nothing is ever fetched.
#pragma once

#include <QHash>
#include <QImage>
#include <nlohmann/json.hpp>

namespace tapedeck::app {

/// Pictures in data: addresses; attachments of the cell; files of the notebook's folder and those below it.
/// Plain data: may be copied to another thread.
class PictureSource {
 public:
  /// Pictures that "attachment:NAME" stands for: nbformat's attachments of a cell.
  void setAttachments(const nlohmann::ordered_json& attachments);
  /// Relative paths are read from here; empty: none are.
  void setFolder(const QString& folder) { folder_ = folder; }
  /// Null where it is not to be had.
  QImage picture(const QString& source) const;
  bool operator==(const PictureSource&) const = default;

 private:
  QHash<QString, QByteArray> attachments_;  ///< base64
  QString folder_;
};

/// Decodes with the size limits that untrusted bytes need; null where they are no bitmap. `error`: why.
QImage decodePicture(const QByteArray& bytes, QString* error = nullptr);

}  // namespace tapedeck::app
