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
  /// Pictures that "attachment:NAME" refers to: nbformat's attachments of a cell.
  void setAttachments(const nlohmann::ordered_json& attachments);
  /// Relative paths are read from here; empty: none are.
  void setFolder(const QString& folder) { folder_ = folder; }
  /// The file's bytes, unchecked; empty where it is not available.
  QByteArray bytes(const QString& source) const;
  /// Whether pictures that this text may show can take longer than a frame to read and decode.
  bool mayTakeLong(const QString& text) const;
  bool operator==(const PictureSource&) const = default;

 private:
  QHash<QString, QByteArray> attachments_;  ///< base64
  QString folder_;
};

/// A picture is decoded with at most so many pixels; larger ones are scaled down meanwhile.
constexpr qint64 most_decoded_pixels = 32'000'000;

/// Of untrusted bytes, without decoding them. Bitmaps are PNG, JPEG, GIF and BMP, recognised by their first
/// bytes: no other decoder sees them. Empty where they are none of these; `error`: why.
QSize bitmapSize(const QByteArray& bytes, QString* error = nullptr);
inline qint64 pixelsOf(QSize size) {
  return size.isEmpty() ? 0 : static_cast<qint64>(size.width()) * size.height();
}

/// Of such bytes, a GIF's first picture; null where they are none. `error`: why.
QImage decodePicture(const QByteArray& bytes, QString* error = nullptr);

}  // namespace tapedeck::app
