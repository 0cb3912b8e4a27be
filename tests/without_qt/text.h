// Qt's strings as far as the engine's tests use them: UTF-8 in a std::string.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using qint64 = long long;
using quint64 = unsigned long long;
using quint32 = unsigned int;
using qsizetype = std::ptrdiff_t;

namespace without_qt {

[[gnu::format(printf, 1, 0)]] std::string formatted(const char* format, std::va_list values);

/// A number, or a holder of one such as std::atomic.
template <class T>
concept Number = std::is_convertible_v<const T&, double> && !std::is_convertible_v<const T&, std::string>;

template <Number T>
std::string number(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", static_cast<double>(value));
    return text;
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return std::to_string(static_cast<long long>(value));
  }
}

/// Functions of both strings. `Self` is the derived class.
template <class Self>
class Text : public std::string {
 public:
  Text() = default;
  Text(const char* text) : std::string(text ? text : "") {}
  Text(const std::string& text) : std::string(text) {}
  static Self fromStdString(const std::string& text) { return Self(text); }
  template <Number T>
  static Self number(const T& value) {
    return Self(without_qt::number(value));
  }
  std::string toStdString() const { return *this; }
  bool isEmpty() const { return empty(); }
  bool contains(const std::string& part) const { return find(part) != npos; }
  bool startsWith(const std::string& part) const { return starts_with(part); }
  bool endsWith(const std::string& part) const { return ends_with(part); }
};

}  // namespace without_qt

class QByteArray : public without_qt::Text<QByteArray> {
 public:
  using Text::Text;
  QByteArray(const char* bytes, qsizetype size) { assign(bytes, static_cast<std::size_t>(size)); }
  const char* constData() const { return c_str(); }
  unsigned long long toULongLong() const { return std::strtoull(c_str(), nullptr, 10); }
  QByteArray toHex(char separator = '\0') const;
};

class QString : public without_qt::Text<QString> {
 public:
  using Text::Text;
  static QString fromUtf8(const std::string& text) { return QString(text); }
  /// Of ASCII.
  static QString fromLatin1(std::string_view text) { return QString(std::string(text)); }
  QByteArray toUtf8() const { return QByteArray(*this); }
  /// Of bytes, where Qt counts UTF-16.
  QString left(qsizetype count) const { return QString(substr(0, static_cast<std::size_t>(count))); }

  /// In place of the lowest of %1 to %99.
  QString arg(const std::string& text) const { return replaced({text}); }
  template <without_qt::Number T>
  QString arg(const T& value) const {
    return replaced({without_qt::number(value)});
  }
  QString arg(double value, int width, char format, int precision = -1) const;
  template <class... Texts>
  QString arg(const char* first, const Texts&... others) const {
    return replaced({first, std::string(others)...});
  }

 private:
  QString replaced(std::initializer_list<std::string> texts) const;
};

class QStringList : public std::vector<QString> {
 public:
  using std::vector<QString>::vector;
  QStringList& operator<<(const QString& text) {
    push_back(text);
    return *this;
  }
  qsizetype size() const { return static_cast<qsizetype>(vector::size()); }
  qsizetype count(const QString& text) const { return std::count(begin(), end(), text); }
  bool isEmpty() const { return empty(); }
  QString join(const QString& separator) const;
  QString join(char separator) const { return join(QString(std::string(1, separator))); }
};

#define qPrintable(string) (string).c_str()

inline QByteArray qgetenv(const char* name) {
  return std::getenv(name);
}
inline bool qputenv(const char* name, const QByteArray& value) {
  return ::setenv(name, value.c_str(), 1) == 0;
}
