#include "engine/debug/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>

namespace tapedeck::debug {

std::vector<std::uint8_t> sign(const std::string& key, std::span<const std::uint8_t> message) {
  if (key.empty()) return {};
  std::vector<std::uint8_t> signature(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(), message.size(),
            signature.data(), &size))
    throw std::runtime_error("HMAC-SHA256 is not available in this OpenSSL");
  signature.resize(size);
  return signature;
}

bool verify(const std::string& key, std::span<const std::uint8_t> message,
            std::span<const std::uint8_t> signature) {
  const std::vector<std::uint8_t> right = sign(key, message);
  return signature.size() == right.size() && CRYPTO_memcmp(signature.data(), right.data(), right.size()) == 0;
}

}  // namespace tapedeck::debug
