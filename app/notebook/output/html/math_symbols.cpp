#include "app/notebook/output/html/math_symbols.h"

namespace tapedeck::app {

// clang-format off
const QHash<QString, QString>& mathSymbols() {
  static const QHash<QString, QString> table = {
      {"alpha", "α"}, {"beta", "β"}, {"gamma", "γ"}, {"delta", "δ"}, {"epsilon", "ϵ"}, {"varepsilon", "ε"},
      {"zeta", "ζ"}, {"eta", "η"}, {"theta", "θ"}, {"vartheta", "ϑ"}, {"iota", "ι"}, {"kappa", "κ"},
      {"lambda", "λ"}, {"mu", "μ"}, {"nu", "ν"}, {"xi", "ξ"}, {"pi", "π"}, {"rho", "ρ"}, {"sigma", "σ"},
      {"tau", "τ"}, {"upsilon", "υ"}, {"phi", "ϕ"}, {"varphi", "φ"}, {"chi", "χ"}, {"psi", "ψ"},
      {"omega", "ω"}, {"Gamma", "Γ"}, {"Delta", "Δ"}, {"Theta", "Θ"}, {"Lambda", "Λ"}, {"Xi", "Ξ"},
      {"Pi", "Π"}, {"Sigma", "Σ"}, {"Phi", "Φ"}, {"Psi", "Ψ"}, {"Omega", "Ω"}, {"cdot", "·"},
      {"times", "×"}, {"div", "÷"}, {"pm", "±"}, {"mp", "∓"}, {"ast", "∗"}, {"circ", "∘"}, {"odot", "⊙"},
      {"oplus", "⊕"}, {"otimes", "⊗"}, {"le", " ≤ "}, {"leq", " ≤ "}, {"ge", " ≥ "}, {"geq", " ≥ "},
      {"ne", " ≠ "}, {"neq", " ≠ "}, {"approx", " ≈ "}, {"equiv", " ≡ "}, {"sim", " ∼ "}, {"propto", " ∝ "},
      {"ll", " ≪ "}, {"gg", " ≫ "}, {"in", " ∈ "}, {"notin", " ∉ "}, {"subset", " ⊂ "}, {"subseteq", " ⊆ "},
      {"cup", " ∪ "}, {"cap", " ∩ "}, {"to", " → "}, {"rightarrow", " → "}, {"leftarrow", " ← "},
      {"gets", " ← "}, {"Rightarrow", " ⇒ "}, {"Leftrightarrow", " ⇔ "}, {"iff", " ⇔ "}, {"implies", " ⇒ "},
      {"mapsto", " ↦ "}, {"uparrow", "↑"}, {"downarrow", "↓"}, {"forall", "∀"}, {"exists", "∃"},
      {"neg", "¬"}, {"land", " ∧ "}, {"lor", " ∨ "}, {"partial", "∂"}, {"nabla", "∇"}, {"infty", "∞"},
      {"sum", "∑"}, {"prod", "∏"}, {"int", "∫"}, {"oint", "∮"}, {"sqrt", "√"}, {"ldots", "…"},
      {"dots", "…"}, {"cdots", "⋯"}, {"vdots", "⋮"}, {"ddots", "⋱"}, {"prime", "′"}, {"dagger", "†"},
      {"ell", "ℓ"}, {"hbar", "ℏ"}, {"Re", "ℜ"}, {"Im", "ℑ"}, {"emptyset", "∅"}, {"langle", "⟨"},
      {"rangle", "⟩"}, {"lVert", "‖"}, {"rVert", "‖"}, {"Vert", "‖"}, {"|", "‖"}, {"mid", " | "},
      {"vert", "|"}, {"lvert", "|"}, {"rvert", "|"}, {"lfloor", "⌊"}, {"rfloor", "⌋"}, {"lceil", "⌈"},
      {"rceil", "⌉"}, {"top", "⊤"}, {"bot", "⊥"}, {"perp", "⊥"}, {"quad", "  "}, {"qquad", "    "},
      {",", " "}, {";", " "}, {":", " "}, {"!", ""}, {" ", " "}, {"\\", "\n"}, {"{", "{"}, {"}", "}"},
      {"_", "_"}, {"%", "%"}, {"$", "$"}, {"#", "#"}, {"&", "&"}, {"left", ""}, {"right", ""}, {"bigl", ""},
      {"bigr", ""}, {"big", ""}, {"Big", ""}, {"limits", ""}, {"displaystyle", ""}, {"textstyle", ""},
      {"colon", ": "}};
  return table;
}
// clang-format on

}  // namespace tapedeck::app
