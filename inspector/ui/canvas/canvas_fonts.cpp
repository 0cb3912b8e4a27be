#include "inspector/ui/canvas/canvas_fonts.h"

#include <QFont>
#include <QFontDatabase>
#include <limits>
#include <map>

namespace tapedeck::inspector {

namespace {

// Latin, Greek, punctuation, super- and subscripts, letters like ᵀ, arrows, mathematics, shapes.
const ImWchar all_ranges[] = {0x0020, 0x017F, 0x02B0, 0x02FF, 0x0370, 0x03FF, 0x1D40, 0x1D40, 0x2010,
                              0x2027, 0x2030, 0x203A, 0x2070, 0x209C, 0x2102, 0x2102, 0x2115, 0x2115,
                              0x211D, 0x211D, 0x2190, 0x2199, 0x21A6, 0x21A6, 0x2200, 0x222B, 0x2234,
                              0x223C, 0x2248, 0x2248, 0x2260, 0x226B, 0x2295, 0x2299, 0x22A4, 0x22A5,
                              0x22C5, 0x22EF, 0x25A0, 0x25CF, 0};
const ImWchar short_ranges[] = {0x0020, 0x007E, 0x00A0, 0x00FF, 0x0370, 0x03FF, 0x1D40, 0x1D40, 0x2013,
                                0x2014, 0x2022, 0x2026, 0x2070, 0x2099, 0x2190, 0x2193, 0x2202, 0x2202,
                                0x2207, 0x2207, 0x2211, 0x221E, 0x2260, 0x2265, 0};

QFont preferred(const char* family, QFontDatabase::SystemFont otherwise) {
  // DejaVu has the arrows and the mathematics that op formulas need, and the metrics that the graph's layout
  // uses.
  return QFontDatabase::hasFamily(QLatin1String(family)) ? QFont(QLatin1String(family))
                                                         : QFontDatabase::systemFont(otherwise);
}

QRawFont rawFont(QFont font, bool bold) {
  font.setBold(bold);
  font.setPixelSize(16);
  return QRawFont::fromFont(font);
}

void appendBigEndian(QByteArray& bytes, quint32 value, int size) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    bytes.append(static_cast<char>((value >> shift) & 0xFF));
}

}  // namespace

QByteArray fontFileBytes(const QRawFont& font) {
  std::map<QByteArray, QByteArray> tables;  // sorted by tag, as the file format asks
  for (const char* tag : {"cmap", "glyf", "loca", "CFF ", "head", "hhea", "hmtx", "maxp", "kern", "OS/2"}) {
    const QByteArray table = font.fontTable(tag);
    if (!table.isEmpty()) tables.emplace(tag, table);
  }
  if (!tables.count("cmap") || !tables.count("head") || (!tables.count("glyf") && !tables.count("CFF ")))
    return {};
  const auto count = static_cast<quint32>(tables.size());
  QByteArray file;
  appendBigEndian(file, tables.count("glyf") ? 0x00010000u : 0x4F54544Fu /* OTTO */, 4);
  appendBigEndian(file, count, 2);
  appendBigEndian(file, 0, 2);  // three fields for binary search, which no reader of ours uses
  appendBigEndian(file, 0, 4);
  quint32 offset = 12 + 16 * count;
  for (const auto& [tag, table] : tables) {
    const auto size = static_cast<quint32>(table.size());
    file.append(tag);
    appendBigEndian(file, 0, 4);  // checksum: not checked
    appendBigEndian(file, offset, 4);
    appendBigEndian(file, size, 4);
    offset += (size + 3) / 4 * 4;
  }
  for (const auto& [tag, table] : tables) {
    file.append(table);
    file.append(QByteArray((4 - table.size() % 4) % 4, '\0'));
  }
  return file;
}

std::shared_ptr<CanvasFonts> CanvasFonts::forRatio(double ratio) {
  static std::map<int, std::weak_ptr<CanvasFonts>> made;
  std::weak_ptr<CanvasFonts>& slot = made[static_cast<int>(ratio * 100 + 0.5)];
  if (auto fonts = slot.lock()) return fonts;
  std::shared_ptr<CanvasFonts> fonts(new CanvasFonts(ratio));
  slot = fonts;
  return fonts;
}

CanvasFonts::CanvasFonts(double ratio) : ratio_(ratio) {
  atlas_.Flags |= ImFontAtlasFlags_NoPowerOfTwoHeight;
  const QFont sans = preferred("DejaVu Sans", QFontDatabase::GeneralFont);
  const QFont mono = preferred("DejaVu Sans Mono", QFontDatabase::FixedFont);
  const QRawFont fonts[] = {rawFont(sans, false), rawFont(sans, true), rawFont(mono, false)};
  const std::initializer_list<double> sizes[] = {{12, 7.5, 9.5, 16, 26}, {12, 9.5, 16, 26, 44}, {9.5, 12}};
  for (const FontRole role : {FontRole::regular, FontRole::bold, FontRole::mono}) {
    const auto index = static_cast<std::size_t>(role);
    const QByteArray bytes = fontFileBytes(fonts[index]);
    line_heights_[index] = (fonts[index].ascent() + fonts[index].descent()) / fonts[index].pixelSize();
    for (const double size : sizes[index])  // the first of all is ImGui's default
      add(role, bytes, size, role == FontRole::regular && size == 12);
  }
  atlas_.Build();
  files_.clear();
}

CanvasFonts::~CanvasFonts() = default;

void CanvasFonts::add(FontRole role, const QByteArray& bytes, double size, bool everything) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.OversampleH = size * ratio_ > 20 ? 1 : 2;
  config.OversampleV = 1;
  config.RasterizerMultiply = 1.08f;  // unhinted small glyphs come out a little thin
  const auto pixels = static_cast<float>(lineHeight(role, size) * ratio_);
  ImFont* font = nullptr;
  if (bytes.isEmpty()) {
    config.SizePixels = pixels;
    font = atlas_.AddFontDefault(&config);
  } else {
    files_.push_back(bytes);
    font = atlas_.AddFontFromMemoryTTF(files_.back().data(), static_cast<int>(bytes.size()), pixels, &config,
                                       everything ? all_ranges : short_ranges);
  }
  fonts_[static_cast<std::size_t>(role)].push_back({size, font});
}

ImFont* CanvasFonts::font(FontRole role, double size) const {
  const std::vector<Sized>& sizes = fonts_[static_cast<std::size_t>(role)];
  const Sized* best = &sizes.front();
  for (const Sized& sized : sizes) {
    const bool fits = sized.size >= size * 0.95;
    const bool best_fits = best->size >= size * 0.95;
    if (fits ? (!best_fits || sized.size < best->size) : (!best_fits && sized.size > best->size))
      best = &sized;
  }
  return best->font;
}

double CanvasFonts::lineHeight(FontRole role, double size) const {
  return size * line_heights_[static_cast<std::size_t>(role)];
}

double CanvasFonts::textWidth(FontRole role, double size, const char* begin, const char* end) const {
  const auto unlimited = std::numeric_limits<float>::max();
  const auto height = static_cast<float>(lineHeight(role, size));
  return font(role, size)->CalcTextSizeA(height, unlimited, 0.0f, begin, end).x;
}

}  // namespace tapedeck::inspector
