// Where Python text assigns a name, and whether the last op that ran there can be what the name got.
#pragma once

#include <QList>
#include <QSet>
#include <QString>
#include <QStringList>

namespace tapedeck::app {

struct PythonAssignment {
  enum class Value {
    op,    ///< an operator, or a call into an imported module: the last op of these lines makes it
    call,  ///< of what may be a function of the program's own, whose ops are on other lines
    other  ///< a Python number, a list, another name …: no op of these lines need have made it
  };
  int first = 0, last = 0;  ///< lines, from 1
  int function = 0;         ///< the line of the innermost `def` around it; 0: none
  Value value = Value::other;
  QString op;           ///< the name of the last op, where it is known; else empty
  QString callee;       ///< of a call: the last of its names
  bool single = false;  ///< one operator or call alone makes it; of a call that may be several ops
  /// Always an op's result: a sum, a product, …, of tf.reduce_mean(…), tf.square(…) and the like. An operator
  /// or another function may give a Python number, and what tf.cast(…) gives need not be made by an op.
  bool tensor = false;
  bool variable = false;  ///< a Variable, without a name of its own or with this one
};

/// What a program's codes have in common.
struct PythonContext {
  QSet<QString> modules;    ///< names that are imported
  QSet<QString> tensors;    ///< of these, those of tapedeck and tensorflow themselves: tf
  QSet<QString> functions;  ///< functions that are defined
};
PythonContext contextOf(const QStringList& codes);

/// Of `name = …`, also with a type, in a chain, or with an operator. An approximation that errs on the side
/// of Value::other.
QList<PythonAssignment> assignmentsTo(const QString& name, const QString& code, const PythonContext& context);

/// The first lines of what gives the name a value in another way: loops, `with`, imports, definitions,
/// parameters, `:=`, `except … as`, and several targets at once. An approximation that errs on their side.
QList<int> otherBindings(const QString& name, const QString& code);

/// The line of the innermost `def` that the line is inside of; 0: none.
int functionAt(const QString& code, int line);

}  // namespace tapedeck::app
