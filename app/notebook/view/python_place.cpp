#include "app/notebook/view/python_place.h"

namespace tapedeck::app {

PythonPlace pythonPlace(QStringView before) {
  using Kind = PythonPlace::Kind;
  PythonPlace place;
  for (qsizetype i = 0; i < before.size(); ++i) {
    const QChar c = before[i];
    if (place.kind == Kind::comment) {
      if (c == u'\n') place.kind = Kind::code;
    } else if (place.kind == Kind::string) {
      if (c == u'\\') {
        ++i;
      } else if (c == u'\n' && !place.triple) {
        place.kind = Kind::code;  // it was never closed
      } else if (c == place.quote) {
        if (place.triple && (i + 2 >= before.size() || before[i + 1] != c || before[i + 2] != c)) continue;
        i += place.triple ? 2 : 0;
        place.kind = Kind::code;
      }
    } else if (c == u'#') {
      place.kind = Kind::comment;
    } else if (c == u'"' || c == u'\'') {
      place.kind = Kind::string;
      place.quote = c;
      place.triple = i + 2 < before.size() && before[i + 1] == c && before[i + 2] == c;
      i += place.triple ? 2 : 0;
    } else if (c == u'(' || c == u'[' || c == u'{') {
      ++place.open;
    } else if (c == u')' || c == u']' || c == u'}') {
      --place.open;
    }
  }
  return place;
}

}  // namespace tapedeck::app
