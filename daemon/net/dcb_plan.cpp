// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb_plan.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace lossless::net {
namespace {

constexpr unsigned kDscpValues = 64;
constexpr unsigned kPcpValues = 16;          // PCP and DEI
constexpr std::size_t kEntriesAtOnce = 200;  // of a table, in one message

// What a set can change of it.
DcbEts settable(DcbEts ets) {
  ets.cap = 0;
  ets.cbs = false;
  return ets;
}
DcbPfc settable(DcbPfc pfc) {
  pfc.cap = 0;
  pfc.requests = {};
  pfc.indications = {};
  return pfc;
}
DcbBuffers settable(DcbBuffers buffers) {
  buffers.total_bytes = 0;
  return buffers;
}
DcbCee settable(DcbCee cee) {
  cee.group_tcs.reset();
  cee.pfc_tcs.reset();
  return cee;
}
template <class Other>
Other settable(Other other) {
  return other;
}

// Calls `visit` with each part and the member that holds it.
template <class Visit>
void for_parts(const Visit& visit) {
  visit(DcbPart::Mode, &DcbState::mode);
  visit(DcbPart::Ets, &DcbState::ets);
  visit(DcbPart::Pfc, &DcbState::pfc);
  visit(DcbPart::MaxRate, &DcbState::max_kbps);
  visit(DcbPart::Buffers, &DcbState::buffers);
  visit(DcbPart::Apps, &DcbState::apps);
  visit(DcbPart::Trust, &DcbState::trust);
  visit(DcbPart::Rewrite, &DcbState::rewrite);
  visit(DcbPart::Cee, &DcbState::cee);
}

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string bits_text(std::uint8_t bits) {
  std::string out;
  for (unsigned i = 0; i < kPriorities; ++i)
    if (bits >> i & 1U) out.append(out.empty() ? "" : ",").append(number(i));
  return out.empty() ? "none" : out;
}

template <class Values>
std::string list_text(const Values& values) {
  std::string out;
  for (const auto value : values) out.append(out.empty() ? "" : ",").append(number(value));
  return out;
}

std::string ets_text(const DcbEts& ets) {
  std::string out;
  for (unsigned tc = 0; tc < kPriorities; ++tc) {
    out.append(out.empty() ? "" : " ").append(number(tc)).append(":").append(tsa_name(ets.tsa[tc]));
    if (ets.tsa[tc] == IEEE_8021QAZ_TSA_ETS) out.append("/").append(number(ets.share[tc])).append("%");
  }
  return out + ", priorities to TCs " + list_text(ets.priority_tc);
}

std::string apps_text(const DcbApps& apps) {
  std::string out;
  for (const DcbApp& app : apps)
    out.append(out.empty() ? "" : " ")
        .append(selector_name(app.selector))
        .append(":")
        .append(number(app.protocol))
        .append("=")
        .append(number(app.priority));
  return out.empty() ? "none" : out;
}

std::string trust_text(const std::vector<std::uint8_t>& trust) {
  std::string out;
  for (const std::uint8_t selector : trust)
    out.append(out.empty() ? "" : ",").append(selector_name(selector));
  return out.empty() ? "none" : out;
}

std::string cee_text(const DcbCee& cee) {
  return std::string(cee.on ? "on" : "off") + ", PFC " + (cee.pfc_on ? bits_text(cee.pfc) : "off") +
         ", groups of TCs " + list_text(cee.tx.tc_group) + ", shares of groups " +
         list_text(cee.tx.group_share);
}

struct Text {
  std::string operator()(std::uint8_t mode) const { return mode_text(mode); }
  std::string operator()(const DcbEts& ets) const { return ets_text(ets); }
  std::string operator()(const DcbPfc& pfc) const { return bits_text(pfc.enabled); }
  std::string operator()(const PerPriority<std::uint64_t>& kbps) const { return list_text(kbps) + " kbit/s"; }
  std::string operator()(const DcbBuffers& b) const {
    return list_text(b.bytes) + " bytes, priorities to buffers " + list_text(b.priority_buffer);
  }
  std::string operator()(const DcbApps& apps) const { return apps_text(apps); }
  std::string operator()(const std::vector<std::uint8_t>& trust) const { return trust_text(trust); }
  std::string operator()(const DcbCee& cee) const { return cee_text(cee); }
};

// Checks, one part each; the text of the first fault.
using Fault = std::optional<std::string>;

Fault check(const DcbEts& now, const DcbEts& wanted) {
  unsigned sum = 0;
  bool shares = false;
  for (unsigned i = 0; i < kPriorities; ++i) {
    if (wanted.priority_tc[i] >= kPriorities || (now.cap && wanted.priority_tc[i] >= now.cap))
      return "priority " + number(i) + " is in TC " + number(wanted.priority_tc[i]) + "; the port has " +
             number(now.cap ? now.cap : kPriorities) + " TCs, from 0";
    if (wanted.tsa[i] != IEEE_8021QAZ_TSA_ETS) continue;
    shares = true;
    sum += wanted.share[i];
  }
  if (shares && sum != 100) return "the shares add to " + number(sum) + "; allowed: 100";
  return std::nullopt;
}

Fault check(const DcbPfc& now, const DcbPfc& wanted) {
  const auto many = static_cast<unsigned>(std::popcount(wanted.enabled));
  if (many <= now.cap) return std::nullopt;
  return "PFC on " + number(many) + " priorities (" + bits_text(wanted.enabled) +
         "); allowed: " + number(now.cap) + " at once";
}

Fault check(const DcbBuffers& now, const DcbBuffers& wanted) {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < kPriorities; ++i) {
    sum += wanted.bytes[i];
    if (wanted.priority_buffer[i] >= kPriorities)
      return "priority " + number(i) + " is in buffer " + number(wanted.priority_buffer[i]) +
             "; allowed: 0 to 7";
  }
  if (sum <= now.total_bytes) return std::nullopt;
  return "the buffers take " + number(sum) + " bytes; the port has " + number(now.total_bytes);
}

Fault check(const DcbApps&, const DcbApps& wanted) {
  for (const DcbApp& app : wanted) {
    if (selector_name(app.selector).empty())
      return "selector " + number(app.selector) + " is unknown; allowed: 1 to 5 and 255";
    if (app.priority >= kPriorities) return "priority " + number(app.priority) + "; allowed: 0 to 7";
    const unsigned values = app.selector == IEEE_8021QAZ_APP_SEL_DSCP ? kDscpValues
                            : app.selector == DCB_APP_SEL_PCP         ? kPcpValues
                                                                      : 65536;
    if (app.protocol >= values)
      return std::string(selector_name(app.selector)) + " " + number(app.protocol) + "; allowed: 0 to " +
             number(values - 1);
  }
  return std::nullopt;
}

Fault check(const std::vector<std::uint8_t>&, const std::vector<std::uint8_t>& wanted) {
  for (auto at = wanted.begin(); at != wanted.end(); ++at) {
    if (selector_name(*at).empty()) return "selector " + number(*at) + " is unknown; allowed: 1 to 5 and 255";
    if (std::find(wanted.begin(), at, *at) != at)
      return "selector " + std::string(selector_name(*at)) + " twice; allowed: each once";
  }
  return std::nullopt;
}

Fault check(const DcbCee& now, const DcbCee& wanted) {
  const auto many = static_cast<unsigned>(std::popcount(wanted.pfc));
  if (now.pfc_tcs && wanted.pfc_on && many > *now.pfc_tcs)
    return "PFC on " + number(many) + " priorities; allowed: " + number(*now.pfc_tcs) + " at once";
  unsigned sum = 0;
  for (const std::uint8_t share : wanted.tx.group_share) sum += share;
  if (sum != 0 && sum != 100) return "the shares of the groups add to " + number(sum) + "; allowed: 100";
  return std::nullopt;
}

template <class Other>
Fault check(const Other&, const Other&) {
  return std::nullopt;
}

// Steps, one part each.
using Steps = std::vector<DcbStep>;
struct Add {
  const std::string& interface;
  Steps& steps;

  void add(DcbPart part, Message message) { steps.push_back({part, std::move(message)}); }

  // Removals come first: an entry that changes its priority has the same place in some drivers.
  void table(DcbPart part, DcbTable which, const DcbApps& now, const DcbApps& wanted) {
    DcbApps gone;
    DcbApps fresh;
    std::ranges::set_difference(now, wanted, std::back_inserter(gone));
    std::ranges::set_difference(wanted, now, std::back_inserter(fresh));
    const auto in_chunks = [&](const DcbApps& all, auto make) {
      for (std::size_t at = 0; at < all.size(); at += kEntriesAtOnce)
        add(part,
            make(interface, which, std::span(all).subspan(at, std::min(kEntriesAtOnce, all.size() - at))));
    };
    in_chunks(gone, dcb_remove);
    in_chunks(fresh, dcb_add);
  }

  void cee(const DcbCee& now, const DcbCee& wanted) {
    constexpr DcbPart kCee = DcbPart::Cee;
    if (now.tx != wanted.tx) add(kCee, cee_set_groups(interface, false, wanted.tx));
    if (now.rx != wanted.rx) add(kCee, cee_set_groups(interface, true, wanted.rx));
    if (now.pfc != wanted.pfc) add(kCee, cee_set_pfc(interface, wanted.pfc));
    if (now.pfc_on != wanted.pfc_on) add(kCee, cee_set_pfc_state(interface, wanted.pfc_on));
    DcbApps changed;
    std::ranges::set_difference(wanted.apps, now.apps, std::back_inserter(changed));
    for (const DcbApp& app : now.apps) {
      const bool stays = std::ranges::any_of(wanted.apps, [&](const DcbApp& w) {
        return w.selector == app.selector && w.protocol == app.protocol;
      });
      if (!stays) changed.push_back({.selector = app.selector, .protocol = app.protocol});
    }
    for (const DcbApp& app : changed) add(kCee, cee_set_app(interface, app));
    if (now.on != wanted.on) add(kCee, cee_set_state(interface, wanted.on));
    add(kCee, cee_apply(interface));
  }

  void operator()(DcbPart part, const DcbState& now, const DcbState& wanted) {
    switch (part) {
      case DcbPart::Mode:
        return add(part, dcb_set_mode(interface, *wanted.mode));
      case DcbPart::Ets:
        return add(part, dcb_set_ets(interface, *wanted.ets));
      case DcbPart::Pfc:
        return add(part, dcb_set_pfc(interface, *wanted.pfc));
      case DcbPart::MaxRate:
        return add(part, dcb_set_max_rate(interface, *wanted.max_kbps));
      case DcbPart::Buffers:
        return add(part, dcb_set_buffers(interface, *wanted.buffers));
      case DcbPart::Trust:
        return add(part, dcb_set_trust(interface, *wanted.trust));
      case DcbPart::Apps:
        return table(part, DcbTable::Apps, now.apps.value_or(DcbApps{}), *wanted.apps);
      case DcbPart::Rewrite:
        return table(part, DcbTable::Rewrite, now.rewrite.value_or(DcbApps{}), *wanted.rewrite);
      case DcbPart::Cee:
        return cee(now.cee.value_or(DcbCee{}), *wanted.cee);
    }
  }
};

}  // namespace

std::vector<DcbFault> check_dcb(const DcbState& now, const DcbState& wanted) {
  std::vector<DcbFault> out;
  for_parts([&](DcbPart part, auto member) {
    if (!(wanted.*member)) return;
    if (now.firmware_managed())
      return out.push_back({part, "the NIC's firmware runs DCBX and decides on it; nothing is written"});
    if (!(now.*member)) return out.push_back({part, "the driver does not have it"});
    if (auto fault = check(*(now.*member), *(wanted.*member))) out.push_back({part, std::move(*fault)});
  });
  return out;
}

std::vector<DcbStep> plan_dcb(const std::string& interface, const DcbState& now, const DcbState& wanted) {
  std::vector<DcbStep> steps;
  for (const DcbFault& difference : differences(now, wanted))
    Add{interface, steps}(difference.part, now, wanted);
  return steps;
}

std::vector<DcbFault> differences(const DcbState& now, const DcbState& wanted) {
  std::vector<DcbFault> out;
  for_parts([&](DcbPart part, auto member) {
    if (!(wanted.*member)) return;
    if ((now.*member) && settable(*(now.*member)) == settable(*(wanted.*member))) return;
    out.push_back({part, "is " + part_text(now, part) + " instead of " + part_text(wanted, part)});
  });
  return out;
}

DcbState same_parts(const DcbState& state, const DcbState& wanted) {
  DcbState out;
  for_parts([&](DcbPart, auto member) {
    if (wanted.*member) out.*member = state.*member;
  });
  return out;
}

DcbParts parts_of(const DcbState& state) {
  unsigned out = 0;
  for_parts([&](DcbPart part, auto member) {
    if (state.*member) out |= set_of(part);
  });
  return static_cast<DcbParts>(out);
}

DcbState only_parts(const DcbState& state, DcbParts parts) {
  DcbState out;
  for_parts([&](DcbPart part, auto member) {
    if (parts & set_of(part)) out.*member = state.*member;
  });
  return out;
}

DcbState with_former(DcbState wanted, DcbParts parts, const DcbState& original) {
  for_parts([&](DcbPart part, auto member) {
    if (!(wanted.*member) && (parts & set_of(part))) wanted.*member = original.*member;
  });
  return wanted;
}

bool same_settings(DcbState a, DcbState b) {
  for (DcbState* state : {&a, &b}) {
    if (!state->pfc) continue;
    state->pfc->requests = {};
    state->pfc->indications = {};
  }
  return a == b;
}

std::string part_text(const DcbState& state, DcbPart part) {
  std::string out = "-";
  for_parts([&](DcbPart which, auto member) {
    if (which == part && (state.*member)) out = Text{}(*(state.*member));
  });
  return out;
}

bool has_part(const DcbState& state, DcbPart part) {
  bool has = false;
  for_parts([&](DcbPart which, auto member) { has = has || (which == part && (state.*member).has_value()); });
  return has;
}

}  // namespace lossless::net
