// Private folders of the user, held by descriptors: the folder that was checked is the one that is used, even
// if another process renames it or puts a link in its place.
#pragma once

#include <QByteArray>
#include <QList>
#include <QString>
#include <initializer_list>
#include <optional>

namespace tapedeck::app {

/// A folder that only this user can enter. engine/python/tapedeck/_session/private_folder.py has
/// the same rules.
class PrivateFolder {
 public:
  /// Whether it is made where it is missing, and closed to others where they could enter it.
  enum class Missing { isMade, isRefused };

  /// None where it is a link, another user's, open to others, or in a folder where others could exchange it.
  static std::optional<PrivateFolder> open(const QString& path, Missing missing = Missing::isRefused);
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;

  /// A folder in it, by the same rules.
  std::optional<PrivateFolder> folder(const QByteArray& name, Missing missing = Missing::isRefused) const;
  /// Names of everything in it, in no order.
  QList<QByteArray> names() const;
  /// A file of the user's that only the user can read; none where it is anything else, or longer than
  /// `longest`.
  std::optional<QByteArray> read(const QByteArray& name, qint64 longest) const;
  /// Removes these files of the folder `name` in it, and then that folder, which stays where anything else is
  /// in it.
  void removeFolder(const QByteArray& name, std::initializer_list<const char*> files) const;

 private:
  explicit PrivateFolder(int descriptor) : descriptor_(descriptor) {}
  static std::optional<PrivateFolder> openAt(int folder, const QByteArray& name, Missing missing);

  int descriptor_ = -1;
};

}  // namespace tapedeck::app
