// Python text as the window looks through it: tokens, the names that cells assign and read, where a name is
// assigned.
#include <algorithm>

#include "app/control/python_assignments.h"
#include "app/control/python_names.h"
#include "app/control/python_tokens.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::app;
using fuzz::expect;

void fuzz::parse(Bytes bytes) {
  const QString code = QString::fromUtf8(text_of(bytes).data(), static_cast<qsizetype>(bytes.size()));
  const auto lines = static_cast<int>(code.count('\n')) + 1;
  int before = 0;
  QStringList names{"loss", "x"};
  for (const PythonLine& line : pythonLines(code)) {
    expect(line.first > 0 && line.first <= line.last && line.last <= lines, "a line is one of the text's");
    expect(line.first >= before, "lines come in their order");
    expect(!line.tokens.isEmpty(), "a line has a token");
    before = line.first;
    if (line.tokens.first().kind == PythonToken::Kind::name && names.size() < 6)
      names << line.tokens.first().text;
    functionAt(code, line.first);
  }
  for (const QString& name : pythonNames(code).reads) expect(!name.isEmpty(), "a name has letters");
  const PythonContext context = contextOf({code, "import tapedeck as tf\ndef f(x): return x"});
  for (const QString& name : names)
    for (const PythonAssignment& made : assignmentsTo(name, code, context)) {
      expect(made.first > 0 && made.first <= made.last && made.last <= lines, "an assignment has its lines");
      expect(made.function >= 0 && made.function <= made.first, "a function begins before what is in it");
    }
}
