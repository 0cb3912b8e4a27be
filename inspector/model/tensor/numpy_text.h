// Numbers as NumPy prints them.
#pragma once

#include <QString>
#include <string>

namespace tapedeck::inspector {

/// "0.5", "1.0", "1e-05", "nan", "-inf", "True", "7": reading it back gives the same value of that dtype.
QString numpyText(double value, const std::string& dtype);

/// The same with at most `digits` significant ones, for legends; with an exponent where digits before the
/// point are left out.
QString numpyShortText(double value, int digits, const std::string& dtype = "float32");

bool isFloatingDtype(const std::string& dtype);
bool isComplexDtype(const std::string& dtype);

}  // namespace tapedeck::inspector
