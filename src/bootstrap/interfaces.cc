#include "src/bootstrap/interfaces.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "src/bootstrap/ifname.h"

namespace accl {
namespace {

/// How good an address is, best first; see choose_interfaces().
enum class Kind : uint8_t {
  kNear,
  kUsual,
  kOnLoopback,
  kLinkLocal,
  kContainers,
  kLoopback,
  kNoCarrier,
};

constexpr std::array<std::string_view, 7> kKindTexts = {
    "in the subnet of ",
    "",
    "an address of the loopback interface",
    "a link-local address",
    "a bridge of containers or virtual machines",
    "loopback",
    "no carrier",
};
std::string_view text_of(Kind kind) { return kKindTexts[static_cast<size_t>(kind)]; }

/// One address that could be used, and what its place among the others depends on.
struct Rated {
  size_t interface = 0;  ///< position in the snapshot
  SocketAddress address;
  Kind kind = Kind::kUsual;
  int distance = 0;  ///< within kNear: the narrower the common subnet, the less
  int tier = 0;      ///< within kUsual
  int turn = 0;      ///< how many of its family the interface has before it

  auto place() const { return std::tuple(kind, distance, tier, interface, turn); }
};

/// The wishes as they are applied.
struct Rules {
  InterfaceNames names;
  int family = AF_UNSPEC;
  std::optional<SocketAddress> near;
};

Result<int> family_named(const std::string& text) {
  if (text.empty()) return int{AF_UNSPEC};
  if (strcasecmp(text.c_str(), "AF_INET") == 0) return int{AF_INET};
  if (strcasecmp(text.c_str(), "AF_INET6") == 0) return int{AF_INET6};
  return invalid_usage(
      fmt::format("NCCL_SOCKET_FAMILY='{}' is not allowed: it takes AF_INET or AF_INET6",
                  std::string_view(text).substr(0, 256)));
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_for_containers(const Interface& interface) {
  return starts_with_any(interface.name, {"docker", "br-", "virbr"});
}

bool same_subnet(const SocketAddress& other, const InterfaceAddress& ours) {
  const SocketAddress& address = ours.address;
  if (other.family != address.family || ours.prefix_bits <= 0) return false;
  if (other.scope != 0 && other.scope != address.scope) return false;
  const int all = address.family == AF_INET ? 32 : 128;
  const int bits = std::min(ours.prefix_bits, all);
  for (int bit = 0; bit < bits; bit++) {
    const auto byte = static_cast<size_t>(bit / 8);
    const std::byte mask{static_cast<uint8_t>(0x80 >> (bit % 8))};
    if ((other.bytes[byte] & mask) != (address.bytes[byte] & mask)) return false;
  }
  return true;
}

Kind kind_of(const Interface& interface, const InterfaceAddress& ours, const Rules& rules) {
  if (!interface.carrier) return Kind::kNoCarrier;
  if (rules.near && same_subnet(*rules.near, ours)) return Kind::kNear;
  if (ours.address.is_loopback()) return Kind::kLoopback;
  if (is_for_containers(interface) && !rules.names.by_name()) return Kind::kContainers;
  if (ours.address.is_link_local()) return Kind::kLinkLocal;
  return interface.loopback ? Kind::kOnLoopback : Kind::kUsual;
}

int tier_of(const Interface& interface, const Rules& rules) {
  if (rules.names.by_name()) return 0;
  if (interface.name.starts_with("ib")) return 0;
  return interface.bridge || interface.point_to_point ? 2 : 1;
}

/// Only of what is near.
int distance_of(const InterfaceAddress& ours, const Rules& rules) {
  return rules.near->bytes == ours.address.bytes ? 0 : 128 - std::min(ours.prefix_bits, 127);
}

bool has_family(const InterfaceAddress& ours, int family) {
  return family == AF_UNSPEC || ours.address.family == family;
}

/// What goes before "address".
std::string_view article_of(int family) {
  if (family == AF_UNSPEC) return "an";
  return family == AF_INET ? "an AF_INET" : "an AF_INET6";
}

/// Why nothing of an interface can be used; empty if something can.
std::string_view obstacle(const Interface& interface, const Rules& rules) {
  const auto& addresses = interface.addresses;
  if (!rules.names.admits(interface.name)) {
    return rules.names.by_name() ? "not named by NCCL_SOCKET_IFNAME"
                                 : "excluded by NCCL_SOCKET_IFNAME";
  }
  if (!interface.up) return "down";
  if (addresses.empty()) return "no address";
  if (std::none_of(addresses.begin(), addresses.end(),
                   [&](const InterfaceAddress& ours) { return has_family(ours, rules.family); })) {
    return rules.family == AF_INET ? "no AF_INET address" : "no AF_INET6 address";
  }
  return {};
}

/// All addresses that could be used, the best first.
std::vector<Rated> rate(const Snapshot& snapshot, const Rules& rules) {
  std::vector<Rated> rated;
  for (size_t i = 0; i < snapshot.interfaces.size(); i++) {
    const Interface& interface = snapshot.interfaces[i];
    if (!obstacle(interface, rules).empty()) continue;
    std::array<int, 2> turns{};
    for (const InterfaceAddress& ours : interface.addresses) {
      if (!has_family(ours, rules.family)) continue;
      const Kind kind = kind_of(interface, ours, rules);
      rated.push_back({.interface = i,
                       .address = ours.address,
                       .kind = kind,
                       .distance = kind == Kind::kNear ? distance_of(ours, rules) : 0,
                       .tier = tier_of(interface, rules),
                       .turn = turns[ours.address.family == AF_INET ? 0 : 1]++});
    }
  }
  std::stable_sort(rated.begin(), rated.end(),
                   [](const Rated& a, const Rated& b) { return a.place() < b.place(); });
  return rated;
}

/// How many of `rated` are used: those that are near, and the best kind of the others.
size_t count_used(const std::vector<Rated>& rated) {
  const auto after = [&](auto from, Kind kind) {
    return std::find_if(from, rated.end(), [kind](const Rated& r) { return r.kind != kind; });
  };
  const auto others = after(rated.begin(), Kind::kNear);
  if (others == rated.end()) return rated.size();
  // Next to one that is near, those of no use to other hosts would only cost their peers time.
  if (others != rated.begin() && others->kind != Kind::kUsual) {
    return static_cast<size_t>(others - rated.begin());
  }
  return static_cast<size_t>(after(others, others->kind) - rated.begin());
}

/// With the interface's own name as the scope: the snapshot need not be of this host.
std::string text_of(const Interface& interface, SocketAddress address) {
  const bool scoped = address.scope != 0;
  address.scope = 0;
  return describe(address) + (scoped ? "%" + interface.name : "");
}

/// The first `most`, and how many there are besides.
std::string list(const std::vector<std::string>& words, size_t most) {
  const size_t shown = std::min(words.size(), most);
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = fmt::format("{}", fmt::join(words.begin(), end, ", "));
  if (shown < words.size()) text += fmt::format(" and {} more", words.size() - shown);
  return text;
}
constexpr size_t kMostAddresses = 8;  // of an interface, in one text
constexpr size_t kMostInterfaces = 16;

/// "eth0 (10.0.0.5, fd00::5)", "eth1 (down)", "eth2".
std::string text_of(const Interface& interface) {
  std::vector<std::string> addresses;
  for (const InterfaceAddress& ours : interface.addresses) {
    addresses.push_back(text_of(interface, ours.address));
  }
  std::string text = list(addresses, kMostAddresses);
  const std::string_view state = !interface.up ? "down" : (interface.carrier ? "" : "no carrier");
  if (!text.empty() && !state.empty()) text += ", ";
  text += state;
  return text.empty() ? interface.name : fmt::format("{} ({})", interface.name, text);
}

/// What became of an interface: `mine` are its addresses that could be used, and `used` of them
/// are.
std::string reason(const Interface& interface, const std::vector<Rated>& mine, size_t used,
                   const Rules& rules) {
  const std::string name = text_of(interface);
  const std::string_view no = obstacle(interface, rules);
  if (!no.empty()) return fmt::format("{}: passed over: {}", name, no);
  if (used == 0) return fmt::format("{}: passed over: {}", name, text_of(mine.front().kind));
  std::string text = name + ": used";
  if (used < interface.addresses.size()) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < used; i++) addresses.push_back(text_of(interface, mine[i].address));
    text += " with " + list(addresses, kMostAddresses);
  }
  const Kind kind = mine.front().kind;
  if (kind == Kind::kUsual) return text;
  if (kind == Kind::kNear) {
    return fmt::format("{}, {}{}", text, text_of(kind), describe(rules.near->with_port(0)));
  }
  return fmt::format("{} as there is nothing better: {}", text, text_of(kind));
}

/// What there is, for errors; bounded whatever the host has.
std::string inventory(const Snapshot& snapshot) {
  std::vector<std::string> with;
  std::vector<std::string> without;
  for (const Interface& interface : snapshot.interfaces) {
    (interface.addresses.empty() ? without : with).push_back(text_of(interface));
  }
  if (with.empty() && without.empty()) return "there is no interface at all";
  if (with.empty()) return "without an address there are " + list(without, kMostInterfaces);
  const std::string text = "there are " + list(with, kMostInterfaces);
  return without.empty() ? text : text + "; without an address " + list(without, kMostInterfaces);
}

/// Why there is no choice.
Status nothing(const Snapshot& snapshot, const Wishes& wishes, const Rules& rules) {
  const std::string there = inventory(snapshot);
  const std::string variable =
      wishes.ifname.empty()
          ? fmt::format("NCCL_SOCKET_FAMILY='{}'", wishes.family)
          : fmt::format("NCCL_SOCKET_IFNAME='{}'", std::string_view(wishes.ifname).substr(0, 256));
  const bool by_name = rules.names.by_name();
  const bool named =
      std::any_of(snapshot.interfaces.begin(), snapshot.interfaces.end(),
                  [&](const Interface& interface) { return rules.names.admits(interface.name); });
  if (!wishes.ifname.empty() && !named) {
    return invalid_usage(fmt::format("{} {} interface; {}", variable,
                                     by_name ? "matches no" : "excludes every", there));
  }
  if (rate(snapshot, Rules{}).empty()) {
    return system_error(fmt::format("no interface with an address is up; {}", there));
  }
  if (wishes.ifname.empty()) {
    return invalid_usage(fmt::format("{}: no interface with {} address is up; {}", variable,
                                     article_of(rules.family), there));
  }
  return invalid_usage(
      fmt::format("{}: none of the interfaces that it {} is up with {} address; {}", variable,
                  by_name ? "matches" : "leaves", article_of(rules.family), there));
}

}  // namespace

Result<InterfaceChoice> choose_interfaces(const Snapshot& snapshot, const Wishes& wishes) {
  Rules rules{InterfaceNames::parse(wishes.ifname), AF_UNSPEC, wishes.near};
  rules.family = ACCL_TRY(family_named(wishes.family));
  const std::vector<Rated> rated = rate(snapshot, rules);
  if (rated.empty()) return nothing(snapshot, wishes, rules);

  const size_t used = count_used(rated);
  InterfaceChoice choice;
  for (size_t i = 0; i < used; i++) {
    choice.candidates.push_back({snapshot.interfaces[rated[i].interface].name, rated[i].address});
  }
  for (size_t i = 0; i < snapshot.interfaces.size(); i++) {
    std::vector<Rated> mine;
    size_t mine_used = 0;
    for (size_t r = 0; r < rated.size(); r++) {
      if (rated[r].interface != i) continue;
      mine.push_back(rated[r]);
      if (r < used) mine_used++;
    }
    choice.reasons.push_back(reason(snapshot.interfaces[i], mine, mine_used, rules));
  }
  return choice;
}

}  // namespace accl
