// Which layer of one side is which of the other.
#include <algorithm>
#include <map>

#include "engine/debug/compare/layers.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/tile.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_named_in_error = 6, most_in_order = 3000;

bool lies_in(const std::string& name, const std::string& layer) {
  return name.starts_with(layer) && (name.size() == layer.size() || name[layer.size()] == '/');
}

/// Whether a side has a layer or a value of that name, or a layer below it.
bool has_name(const SideLayers& side, const std::string& name) {
  return std::ranges::any_of(side.layers, [&](const Layer& layer) {
    for (const std::string& own : {layer.name, normal_name(layer.scope)}) {
      if (!own.empty() && lies_in(own, name)) return true;
    }
    return std::ranges::any_of(layer.values,
                               [&](const LayerValue& value) { return has_whole_name(layer, value, name); });
  });
}

std::string names_of(const SideLayers& side) {
  std::string text;
  std::size_t count = 0;
  for (const Layer& layer : side.layers)
    if (!layer.name.empty() && count++ < most_named_in_error) text += (text.empty() ? "" : ", ") + layer.name;
  if (count > most_named_in_error) text += ", …";
  return text.empty() ? "It has no named layers." : "Its layers are: " + text + ".";
}

/// With the sides as they are; an entry that was written for the other order of the sides is turned round.
NameMap directed(const SideLayers& left, const SideLayers& right, const NameMap& map) {
  NameMap turned;
  for (const NamePair& pair : map) {
    if (has_name(left, pair.left) && has_name(right, pair.right)) {
      turned.push_back(pair);
    } else if (has_name(left, pair.right) && has_name(right, pair.left)) {
      turned.push_back({pair.right, pair.left, pair.line});
    } else {
      const bool left_missing = !has_name(left, pair.left);
      const std::string& name = left_missing ? pair.left : pair.right;
      throw BadRequest("line " + std::to_string(pair.line) + ": the " + (left_missing ? "left" : "right") +
                       " side has no layer and no value \"" + name + "\". " +
                       names_of(left_missing ? left : right));
    }
  }
  return turned;
}

class LayerPairing {
 public:
  LayerPairing(SideLayers& left, SideLayers& right) : left_(left), right_(right) {
    pairs_.right_of.assign(left.layers.size(), no_layer);
    pairs_.left_of.assign(right.layers.size(), no_layer);
    pair(0, 0);
  }

  LayerPairs run(const NameMap& map) {
    pairs_.names = map;
    by_values_of_map(map);
    by_map(map);
    by_name([](const std::string& name) { return name; });
    by_ends();
    in_order();
    deal_out(left_, pairs_.right_of, right_, pairs_.left_of);
    deal_out(right_, pairs_.left_of, left_, pairs_.right_of);
    fold(left_, pairs_.right_of);
    fold(right_, pairs_.left_of);
    return std::move(pairs_);
  }

 private:
  void pair(std::size_t left, std::size_t right) {
    pairs_.right_of[left] = right;
    pairs_.left_of[right] = left;
  }
  bool free_left(std::size_t layer) const { return pairs_.right_of[layer] == no_layer; }
  bool free_right(std::size_t layer) const { return pairs_.left_of[layer] == no_layer; }

  static std::size_t layer_with_value(const SideLayers& side, const std::string& name) {
    for (std::size_t i = 1; i < side.layers.size(); ++i)
      if (std::ranges::any_of(side.layers[i].values, [&](const LayerValue& value) {
            return has_whole_name(side.layers[i], value, name);
          }))
        return i;
    return no_layer;
  }

  /// Values that are the same lie in layers that are.
  void by_values_of_map(const NameMap& map) {
    for (const NamePair& one : map) {
      const std::size_t l = layer_with_value(left_, one.left), r = layer_with_value(right_, one.right);
      if (l != no_layer && r != no_layer && free_left(l) && free_right(r)) pair(l, r);
    }
  }

  void by_map(const NameMap& map) {
    if (map.empty()) return;
    for (std::size_t l = 1; l < left_.layers.size(); ++l)
      for (const std::string& own : {left_.layers[l].name, normal_name(left_.layers[l].scope)}) {
        const std::string wanted = mapped_name(map, own);
        if (wanted.empty() || !free_left(l)) continue;
        for (std::size_t r = 1; r < right_.layers.size(); ++r)
          if (free_right(r) &&
              (right_.layers[r].name == wanted || normal_name(right_.layers[r].scope) == wanted)) {
            pair(l, r);
            break;
          }
      }
  }

  template <class Name>
  void by_name(Name&& name) {
    std::map<std::string, std::size_t> rights;
    for (std::size_t r = 1; r < right_.layers.size(); ++r)
      if (free_right(r)) rights.try_emplace(name(right_.layers[r].name), r);
    for (std::size_t l = 1; l < left_.layers.size(); ++l)
      if (const auto found = rights.find(name(left_.layers[l].name));
          free_left(l) && found != rights.end() && free_right(found->second))
        pair(l, found->second);
  }

  /// "encoder/fc" and "model/encoder/fc", where only one fits.
  void by_ends() {
    const auto ends = [](const std::string& whole, const std::string& end) {
      return whole.size() > end.size() && whole.ends_with(end) && whole[whole.size() - end.size() - 1] == '/';
    };
    for (std::size_t l = 1; l < left_.layers.size(); ++l) {
      if (!free_left(l) || left_.layers.size() * right_.layers.size() > most_in_order * most_in_order)
        continue;
      std::size_t only = no_layer, count = 0;
      for (std::size_t r = 1; r < right_.layers.size(); ++r) {
        const std::string &a = left_.layers[l].name, &b = right_.layers[r].name;
        if (!free_right(r) || !(ends(a, b) || ends(b, a))) continue;
        only = r;
        ++count;
      }
      if (count == 1) pair(l, only);
    }
  }

  /// Layers without a counterpart, between two that have one: the longest common sequence of those that have
  /// the same weights and results, up to the order of axes.
  void in_order() {
    std::vector<std::size_t> lefts, rights;
    for (std::size_t l = 1; l < left_.layers.size(); ++l)
      if (free_left(l)) lefts.push_back(l);
    for (std::size_t r = 1; r < right_.layers.size(); ++r)
      if (free_right(r)) rights.push_back(r);
    if (lefts.empty() || rights.empty() || lefts.size() > most_in_order || rights.size() > most_in_order)
      return;
    const bool outputs = !left_.tensors && !right_.tensors;
    std::vector<Signature> l_signs, r_signs;
    for (const std::size_t l : lefts) l_signs.push_back(signature(left_, left_.layers[l], outputs));
    for (const std::size_t r : rights) r_signs.push_back(signature(right_, right_.layers[r], outputs));
    const std::size_t wide = rights.size() + 1;
    std::vector<std::uint16_t> longest((lefts.size() + 1) * wide, 0);
    for (std::size_t i = lefts.size(); i-- > 0;)
      for (std::size_t k = rights.size(); k-- > 0;)
        longest[i * wide + k] = alike(l_signs[i], r_signs[k])
                                    ? static_cast<std::uint16_t>(longest[(i + 1) * wide + k + 1] + 1)
                                    : std::max(longest[(i + 1) * wide + k], longest[i * wide + k + 1]);
    for (std::size_t i = 0, k = 0; i < lefts.size() && k < rights.size();) {
      if (alike(l_signs[i], r_signs[k]) && longest[i * wide + k] == longest[(i + 1) * wide + k + 1] + 1)
        pair(lefts[i++], rights[k++]);
      else if (longest[(i + 1) * wide + k] >= longest[i * wide + k + 1])
        ++i;
      else
        ++k;
    }
  }

  /// Extents of what comes from outside, sorted, and of the result.
  struct Signature {
    std::vector<std::vector<std::int64_t>> values;
    std::vector<std::int64_t> output;
  };
  static Signature signature(const SideLayers& side, const Layer& layer, bool outputs) {
    Signature sign;
    for (const LayerValue& value : layer.values)
      if (const std::uint32_t spec = side.trace->tensors().get(value.tensor).spec())
        sign.values.push_back(unordered_extents(spec_of(spec).shape));
    std::ranges::sort(sign.values);
    if (outputs) sign.output = layer.output;
    return sign;
  }
  /// One side may have data as a value from outside that an op of the program made on the other.
  static bool alike(const Signature& left, const Signature& right) {
    if (left.output != right.output) return false;
    const auto &few = left.values.size() <= right.values.size() ? left.values : right.values,
               &many = left.values.size() <= right.values.size() ? right.values : left.values;
    if (few.empty()) return many.empty() && !left.output.empty();
    return many.size() - few.size() <= 1 && std::ranges::includes(many, few);
  }

  static std::vector<std::int64_t> extents(const SideLayers& side, std::uint64_t tensor) {
    const std::uint32_t spec = side.trace->tensors().get(tensor).spec();
    return spec ? unordered_extents(spec_of(spec).shape) : std::vector<std::int64_t>{-1};
  }

  /// Tensors of a file that have no layer's name ("arr_0" of np.savez(*arrays)): in their order they are the
  /// weights of the recorded layers that have no counterpart, by extents. `other_of`: by the
  /// file's layer; `file_of`: by the other side's.
  void deal_out(SideLayers& file, std::vector<std::size_t>& other_of, const SideLayers& other,
                std::vector<std::size_t>& file_of) {
    if (!file.tensors || other.tensors) return;
    for (std::size_t i = 1; i < other.layers.size(); ++i) {
      if (file_of[i] != no_layer) continue;
      Layer made;
      for (const LayerValue& wanted : other.layers[i].values) {
        std::vector<LayerValue>& pool = file.layers[0].values;
        const auto found = std::ranges::find_if(pool, [&](const LayerValue& one) {
          return wanted.weight && !has_outside(other, one.name) &&
                 extents(file, one.tensor) == extents(other, wanted.tensor);
        });
        if (found == pool.end()) continue;
        made.values.push_back(std::move(*found));
        pool.erase(found);
      }
      if (made.values.empty()) continue;
      pairs_.by_extents += made.values.size();
      made.name = other.layers[i].name;
      file_of[i] = file.layers.size();
      other_of.push_back(i);
      file.layers.push_back(std::move(made));
    }
  }
  static bool has_outside(const SideLayers& side, const std::string& name) {
    return std::ranges::any_of(side.layers[0].values,
                               [&](const LayerValue& value) { return value.name == name; });
  }

  /// "fc/linear", which one side alone has, is a part of "fc", which both have.
  static void fold(SideLayers& side, const std::vector<std::size_t>& other_of) {
    std::map<std::string, std::size_t> paired;
    std::vector<std::size_t> into(side.layers.size(), no_layer);
    for (std::size_t i = 1; i < side.layers.size(); ++i)
      if (other_of[i] != no_layer) paired.try_emplace(side.layers[i].name, i);
    for (std::size_t i = 1; i < side.layers.size(); ++i) {
      Layer& part = side.layers[i];
      std::string whole = other_of[i] == no_layer ? part.name : std::string();
      while (into[i] == no_layer && whole.find('/') != std::string::npos) {
        whole.erase(whole.rfind('/'));
        if (const auto found = paired.find(whole); found != paired.end()) into[i] = found->second;
      }
      if (into[i] == no_layer) continue;
      Layer& layer = side.layers[into[i]];
      for (LayerValue& value : part.values) {
        if (!value.name.empty()) value.name = part.name.substr(whole.size() + 1) + "/" + value.name;
        layer.values.push_back(std::move(value));
      }
      part.values.clear();
      layer.taken.insert(layer.taken.end(), part.taken.begin(), part.taken.end());
      part.folded = true;
      if (part.result <= layer.result) continue;
      layer.result = part.result;
      layer.output = part.output;
    }
    for (auto& [scope, layer] : side.by_scope)
      if (into[layer] != no_layer) layer = into[layer];
  }

  SideLayers &left_, &right_;
  LayerPairs pairs_;
};

}  // namespace

bool has_whole_name(const Layer& layer, const LayerValue& value, const std::string& name) {
  if (value.name.empty()) return false;
  for (const std::string& own : {layer.name, normal_name(layer.scope)})
    if ((own.empty() ? value.name : own + "/" + value.name) == name) return true;
  return false;
}

LayerPairs pair_layers(SideLayers& left, SideLayers& right, const NameMap& map) {
  return LayerPairing(left, right).run(directed(left, right, map));
}

}  // namespace tapedeck::debug
