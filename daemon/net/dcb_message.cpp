// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb_message.h"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

namespace lossless::net {
namespace {

constexpr std::uint8_t kStrictGroup = 15;

Message request(int type, int command, const std::string& interface) {
  Message message(type, 0);
  dcbmsg header{};
  header.dcb_family = AF_UNSPEC;
  header.cmd = static_cast<std::uint8_t>(command);
  message.header(header).text(DCB_ATTR_IFNAME, interface);
  return message;
}

Message ieee(const std::string& interface, int command, const std::function<void(Message&)>& fill) {
  Message message = request(RTM_SETDCB, command, interface);
  message.nest(DCB_ATTR_IEEE, fill);
  return message;
}

template <class Array, std::size_t N>
void copy_out(const Array& from, std::uint8_t (&to)[N]) {
  std::ranges::copy(from, to);
}

// Entries of selectors that are no standard's have a type of their own.
int app_type(std::uint8_t selector) {
  return selector == DCB_APP_SEL_PCP ? DCB_ATTR_DCB_APP : DCB_ATTR_IEEE_APP;
}

Message table_request(const std::string& interface, int command, DcbTable table,
                      std::span<const DcbApp> entries) {
  const int type = table == DcbTable::Apps ? DCB_ATTR_IEEE_APP_TABLE : DCB_ATTR_DCB_REWR_TABLE;
  return ieee(interface, command, [&](Message& m) {
    m.nest(type, [&](Message& list) {
      for (const DcbApp& entry : entries) {
        dcb_app app{};
        app.selector = entry.selector;
        app.priority = entry.priority;
        app.protocol = entry.protocol;
        list.attr(app_type(entry.selector), app);
      }
    });
  });
}

// Reading. nlattr lists come from the kernel, but nothing is trusted of their lengths.

template <class Value>
std::optional<Value> value_of(const nlattr* attr) {
  if (!attr || nla_len(attr) < static_cast<int>(sizeof(Value))) return std::nullopt;
  Value value{};
  std::memcpy(&value, nla_data(attr), sizeof value);
  return value;
}

template <class Each>
void for_each(const nlattr* nest, const Each& each) {
  auto* at = static_cast<nlattr*>(nla_data(nest));
  for (int left = nla_len(nest); nla_ok(at, left); at = nla_next(at, &left)) each(at);
}

template <class T, std::size_t N>
void copy_in(const T (&from)[N], PerPriority<T>& to) {
  static_assert(N == kPriorities);
  std::copy(std::begin(from), std::end(from), to.begin());
}

DcbEts ets_of(const ieee_ets& in) {
  DcbEts out;
  out.willing = in.willing != 0;
  out.cap = in.ets_cap;
  out.cbs = in.cbs != 0;
  copy_in(in.tc_tx_bw, out.share);
  copy_in(in.tc_rx_bw, out.rx_share);
  copy_in(in.tc_tsa, out.tsa);
  copy_in(in.prio_tc, out.priority_tc);
  copy_in(in.tc_reco_bw, out.recommended_share);
  copy_in(in.tc_reco_tsa, out.recommended_tsa);
  copy_in(in.reco_prio_tc, out.recommended_priority_tc);
  return out;
}

DcbPfc pfc_of(const ieee_pfc& in) {
  DcbPfc out{.cap = in.pfc_cap, .enabled = in.pfc_en, .macsec_bypass = in.mbc != 0, .delay = in.delay};
  std::ranges::transform(in.requests, out.requests.begin(), [](auto n) { return std::uint64_t{n}; });
  std::ranges::transform(in.indications, out.indications.begin(), [](auto n) { return std::uint64_t{n}; });
  return out;
}

DcbBuffers buffers_of(const dcbnl_buffer& in) {
  DcbBuffers out;
  copy_in(in.prio2buffer, out.priority_buffer);
  copy_in(in.buffer_size, out.bytes);
  out.total_bytes = in.total_size;
  return out;
}

DcbApps apps_of(const nlattr* nest) {
  DcbApps out;
  for_each(nest, [&](const nlattr* attr) {
    if (nla_type(attr) != DCB_ATTR_IEEE_APP && nla_type(attr) != DCB_ATTR_DCB_APP) return;
    if (const auto app = value_of<dcb_app>(attr))
      out.push_back({.selector = app->selector, .protocol = app->protocol, .priority = app->priority});
  });
  std::ranges::sort(out);
  return out;
}

bool read_ieee(nlattr* nest, DcbState& state) {
  nlattr* attrs[DCB_ATTR_IEEE_MAX + 1];
  if (nla_parse_nested(attrs, DCB_ATTR_IEEE_MAX, nest, nullptr)) return false;
  if (const auto ets = value_of<ieee_ets>(attrs[DCB_ATTR_IEEE_ETS])) state.ets = ets_of(*ets);
  if (const auto pfc = value_of<ieee_pfc>(attrs[DCB_ATTR_IEEE_PFC])) state.pfc = pfc_of(*pfc);
  if (const auto rate = value_of<ieee_maxrate>(attrs[DCB_ATTR_IEEE_MAXRATE])) {
    state.max_kbps.emplace();
    std::ranges::transform(rate->tc_maxrate, state.max_kbps->begin(),
                           [](auto n) { return std::uint64_t{n}; });
  }
  if (const auto buffer = value_of<dcbnl_buffer>(attrs[DCB_ATTR_DCB_BUFFER]))
    state.buffers = buffers_of(*buffer);
  if (const nlattr* apps = attrs[DCB_ATTR_IEEE_APP_TABLE]) state.apps = apps_of(apps);
  if (const nlattr* rewrite = attrs[DCB_ATTR_DCB_REWR_TABLE]) state.rewrite = apps_of(rewrite);
  if (const nlattr* trust = attrs[DCB_ATTR_DCB_APP_TRUST_TABLE]) {
    state.trust.emplace();
    for_each(trust, [&](const nlattr* attr) {
      if (const auto selector = value_of<std::uint8_t>(attr)) state.trust->push_back(*selector);
    });
  }
  return true;
}

bool read_groups(nlattr* nest, DcbCeeGroups& groups) {
  nlattr* attrs[DCB_PG_ATTR_MAX + 1];
  if (nla_parse_nested(attrs, DCB_PG_ATTR_MAX, nest, nullptr)) return false;
  for (unsigned i = 0; i < kPriorities; ++i) {
    if (const auto share = value_of<std::uint8_t>(attrs[DCB_PG_ATTR_BW_ID_0 + i]))
      groups.group_share[i] = *share;
    nlattr* tc[DCB_TC_ATTR_PARAM_MAX + 1];
    if (!attrs[DCB_PG_ATTR_TC_0 + i]) continue;
    if (nla_parse_nested(tc, DCB_TC_ATTR_PARAM_MAX, attrs[DCB_PG_ATTR_TC_0 + i], nullptr)) return false;
    groups.tc_group[i] = value_of<std::uint8_t>(tc[DCB_TC_ATTR_PARAM_PGID]).value_or(kStrictGroup);
    groups.tc_priorities[i] = value_of<std::uint8_t>(tc[DCB_TC_ATTR_PARAM_UP_MAPPING]).value_or(0);
    groups.tc_strict[i] = value_of<std::uint8_t>(tc[DCB_TC_ATTR_PARAM_STRICT_PRIO]).value_or(0);
    groups.tc_share[i] = value_of<std::uint8_t>(tc[DCB_TC_ATTR_PARAM_BW_PCT]).value_or(0);
  }
  return true;
}

bool read_cee_pfc(nlattr* nest, DcbCee& cee) {
  nlattr* attrs[DCB_PFC_UP_ATTR_MAX + 1];
  if (nla_parse_nested(attrs, DCB_PFC_UP_ATTR_MAX, nest, nullptr)) return false;
  cee.pfc = 0;
  for (unsigned i = 0; i < kPriorities; ++i)
    if (value_of<std::uint8_t>(attrs[DCB_PFC_UP_ATTR_0 + i]).value_or(0))
      cee.pfc = static_cast<std::uint8_t>(cee.pfc | 1U << i);
  return true;
}

DcbApps cee_apps_of(const nlattr* nest) {
  DcbApps out;
  for_each(nest, [&](nlattr* entry) {
    nlattr* attrs[DCB_APP_ATTR_MAX + 1];
    if (nla_parse_nested(attrs, DCB_APP_ATTR_MAX, entry, nullptr)) return;
    const auto kind = value_of<std::uint8_t>(attrs[DCB_APP_ATTR_IDTYPE]);
    const auto id = value_of<std::uint16_t>(attrs[DCB_APP_ATTR_ID]);
    const auto priorities = value_of<std::uint8_t>(attrs[DCB_APP_ATTR_PRIORITY]);
    if (kind && id && priorities)
      out.push_back({.selector = *kind, .protocol = *id, .priority = *priorities});
  });
  std::ranges::sort(out);
  return out;
}

bool read_cee(nlattr* nest, DcbState& state) {
  nlattr* attrs[DCB_ATTR_CEE_MAX + 1];
  if (nla_parse_nested(attrs, DCB_ATTR_CEE_MAX, nest, nullptr)) return false;
  // A driver without CEE answers with nothing but an application table.
  if (!attrs[DCB_ATTR_CEE_TX_PG] && !attrs[DCB_ATTR_CEE_RX_PG] && !attrs[DCB_ATTR_CEE_PFC]) return true;
  if (!state.cee) state.cee.emplace();
  DcbCee& cee = *state.cee;
  if (attrs[DCB_ATTR_CEE_TX_PG] && !read_groups(attrs[DCB_ATTR_CEE_TX_PG], cee.tx)) return false;
  if (attrs[DCB_ATTR_CEE_RX_PG] && !read_groups(attrs[DCB_ATTR_CEE_RX_PG], cee.rx)) return false;
  if (attrs[DCB_ATTR_CEE_PFC] && !read_cee_pfc(attrs[DCB_ATTR_CEE_PFC], cee)) return false;
  if (attrs[DCB_ATTR_CEE_APP_TABLE]) cee.apps = cee_apps_of(attrs[DCB_ATTR_CEE_APP_TABLE]);
  return true;
}

// What has a command of its own, and comes outside CEE's nest.
void read_cee_single(nlattr* const* attrs, DcbCee& cee) {
  if (const auto on = value_of<std::uint8_t>(attrs[DCB_ATTR_STATE])) cee.on = *on != 0;
  if (const auto on = value_of<std::uint8_t>(attrs[DCB_ATTR_PFC_STATE])) cee.pfc_on = *on != 0;
  nlattr* tcs[DCB_NUMTCS_ATTR_MAX + 1];
  if (!attrs[DCB_ATTR_NUMTCS] || nla_parse_nested(tcs, DCB_NUMTCS_ATTR_MAX, attrs[DCB_ATTR_NUMTCS], nullptr))
    return;
  cee.group_tcs = value_of<std::uint8_t>(tcs[DCB_NUMTCS_ATTR_PG]);
  cee.pfc_tcs = value_of<std::uint8_t>(tcs[DCB_NUMTCS_ATTR_PFC]);
}

bool parse(nlmsghdr* message, nlattr** attrs) {
  return (message->nlmsg_type == RTM_GETDCB || message->nlmsg_type == RTM_SETDCB) &&
         nlmsg_parse(message, sizeof(dcbmsg), attrs, DCB_ATTR_MAX, nullptr) == 0;
}

}  // namespace

Message dcb_get(const std::string& interface, int command) {
  Message message = request(RTM_GETDCB, command, interface);
  if (command == DCB_CMD_GNUMTCS)
    message.nest(DCB_ATTR_NUMTCS, [](Message& m) { nla_put_flag(m.raw(), DCB_NUMTCS_ATTR_ALL); });
  return message;
}

Message dcb_set_ets(const std::string& interface, const DcbEts& in) {
  ieee_ets ets{};
  ets.willing = in.willing;
  copy_out(in.share, ets.tc_tx_bw);
  copy_out(in.rx_share, ets.tc_rx_bw);
  copy_out(in.tsa, ets.tc_tsa);
  copy_out(in.priority_tc, ets.prio_tc);
  copy_out(in.recommended_share, ets.tc_reco_bw);
  copy_out(in.recommended_tsa, ets.tc_reco_tsa);
  copy_out(in.recommended_priority_tc, ets.reco_prio_tc);
  return ieee(interface, DCB_CMD_IEEE_SET, [&](Message& m) { m.attr(DCB_ATTR_IEEE_ETS, ets); });
}

Message dcb_set_pfc(const std::string& interface, const DcbPfc& in) {
  ieee_pfc pfc{};
  pfc.pfc_en = in.enabled;
  pfc.mbc = in.macsec_bypass;
  pfc.delay = in.delay;
  return ieee(interface, DCB_CMD_IEEE_SET, [&](Message& m) { m.attr(DCB_ATTR_IEEE_PFC, pfc); });
}

Message dcb_set_max_rate(const std::string& interface, const PerPriority<std::uint64_t>& kbps) {
  ieee_maxrate rate{};
  std::ranges::copy(kbps, rate.tc_maxrate);
  return ieee(interface, DCB_CMD_IEEE_SET, [&](Message& m) { m.attr(DCB_ATTR_IEEE_MAXRATE, rate); });
}

Message dcb_set_buffers(const std::string& interface, const DcbBuffers& in) {
  dcbnl_buffer buffer{};
  copy_out(in.priority_buffer, buffer.prio2buffer);
  std::ranges::copy(in.bytes, buffer.buffer_size);
  return ieee(interface, DCB_CMD_IEEE_SET, [&](Message& m) { m.attr(DCB_ATTR_DCB_BUFFER, buffer); });
}

Message dcb_set_trust(const std::string& interface, std::span<const std::uint8_t> selectors) {
  return ieee(interface, DCB_CMD_IEEE_SET, [&](Message& m) {
    m.nest(DCB_ATTR_DCB_APP_TRUST_TABLE, [&](Message& list) {
      for (const std::uint8_t selector : selectors) list.attr(app_type(selector), selector);
    });
  });
}

Message dcb_set_mode(const std::string& interface, std::uint8_t mode) {
  Message message = request(RTM_SETDCB, DCB_CMD_SDCBX, interface);
  message.attr(DCB_ATTR_DCBX, mode);
  return message;
}

Message dcb_add(const std::string& interface, DcbTable table, std::span<const DcbApp> entries) {
  return table_request(interface, DCB_CMD_IEEE_SET, table, entries);
}

Message dcb_remove(const std::string& interface, DcbTable table, std::span<const DcbApp> entries) {
  return table_request(interface, DCB_CMD_IEEE_DEL, table, entries);
}

Message cee_set_state(const std::string& interface, bool on) {
  Message message = request(RTM_SETDCB, DCB_CMD_SSTATE, interface);
  message.attr(DCB_ATTR_STATE, static_cast<std::uint8_t>(on));
  return message;
}

Message cee_set_pfc_state(const std::string& interface, bool on) {
  Message message = request(RTM_SETDCB, DCB_CMD_PFC_SSTATE, interface);
  message.attr(DCB_ATTR_PFC_STATE, static_cast<std::uint8_t>(on));
  return message;
}

Message cee_set_pfc(const std::string& interface, std::uint8_t priorities) {
  Message message = request(RTM_SETDCB, DCB_CMD_PFC_SCFG, interface);
  message.nest(DCB_ATTR_PFC_CFG, [&](Message& m) {
    for (unsigned i = 0; i < kPriorities; ++i)
      m.attr(DCB_PFC_UP_ATTR_0 + static_cast<int>(i), static_cast<std::uint8_t>(priorities >> i & 1U));
  });
  return message;
}

Message cee_set_groups(const std::string& interface, bool rx, const DcbCeeGroups& groups) {
  Message message = request(RTM_SETDCB, rx ? DCB_CMD_PGRX_SCFG : DCB_CMD_PGTX_SCFG, interface);
  message.nest(DCB_ATTR_PG_CFG, [&](Message& m) {
    for (unsigned i = 0; i < kPriorities; ++i) {
      m.nest(DCB_PG_ATTR_TC_0 + static_cast<int>(i), [&](Message& tc) {
        tc.attr(DCB_TC_ATTR_PARAM_PGID, groups.tc_group[i])
            .attr(DCB_TC_ATTR_PARAM_UP_MAPPING, groups.tc_priorities[i])
            .attr(DCB_TC_ATTR_PARAM_STRICT_PRIO, groups.tc_strict[i])
            .attr(DCB_TC_ATTR_PARAM_BW_PCT, groups.tc_share[i]);
      });
    }
    for (unsigned i = 0; i < kPriorities; ++i)
      m.attr(DCB_PG_ATTR_BW_ID_0 + static_cast<int>(i), groups.group_share[i]);
  });
  return message;
}

Message cee_set_tcs(const std::string& interface, std::uint8_t group_tcs, std::uint8_t pfc_tcs) {
  Message message = request(RTM_SETDCB, DCB_CMD_SNUMTCS, interface);
  message.nest(DCB_ATTR_NUMTCS,
               [&](Message& m) { m.attr(DCB_NUMTCS_ATTR_PG, group_tcs).attr(DCB_NUMTCS_ATTR_PFC, pfc_tcs); });
  return message;
}

Message cee_set_app(const std::string& interface, const DcbApp& app) {
  Message message = request(RTM_SETDCB, DCB_CMD_SAPP, interface);
  message.nest(DCB_ATTR_APP, [&](Message& m) {
    m.attr(DCB_APP_ATTR_IDTYPE, app.selector)
        .attr(DCB_APP_ATTR_ID, app.protocol)
        .attr(DCB_APP_ATTR_PRIORITY, app.priority);
  });
  return message;
}

Message cee_apply(const std::string& interface) {
  Message message = request(RTM_SETDCB, DCB_CMD_SET_ALL, interface);
  message.attr(DCB_ATTR_SET_ALL, std::uint8_t{1});
  return message;
}

std::string dcb_interface(nlmsghdr* message) {
  nlattr* attrs[DCB_ATTR_MAX + 1];
  if (!parse(message, attrs) || !attrs[DCB_ATTR_IFNAME]) return {};
  const std::string_view name(static_cast<const char*>(nla_data(attrs[DCB_ATTR_IFNAME])),
                              static_cast<std::size_t>(nla_len(attrs[DCB_ATTR_IFNAME])));
  return std::string(name.substr(0, name.find('\0')));
}

bool read_dcb(nlmsghdr* message, DcbState& state) {
  nlattr* attrs[DCB_ATTR_MAX + 1];
  if (!parse(message, attrs)) return false;
  if (attrs[DCB_ATTR_IEEE] && !read_ieee(attrs[DCB_ATTR_IEEE], state)) return false;
  if (attrs[DCB_ATTR_CEE] && !read_cee(attrs[DCB_ATTR_CEE], state)) return false;
  if (const auto mode = value_of<std::uint8_t>(attrs[DCB_ATTR_DCBX])) state.mode = mode;
  if (state.cee) read_cee_single(attrs, *state.cee);
  return true;
}

std::optional<int> dcb_set_result(nlmsghdr* message) {
  nlattr* attrs[DCB_ATTR_MAX + 1];
  if (message->nlmsg_type != RTM_SETDCB || !parse(message, attrs)) return std::nullopt;
  if (const auto result = value_of<std::uint8_t>(attrs[DCB_ATTR_IEEE]))  // -errno, cut to a byte
    return -static_cast<std::int8_t>(*result);
  for (const int type : {DCB_ATTR_DCBX, DCB_ATTR_STATE, DCB_ATTR_PFC_STATE, DCB_ATTR_PFC_CFG, DCB_ATTR_PG_CFG,
                         DCB_ATTR_NUMTCS, DCB_ATTR_APP, DCB_ATTR_SET_ALL})
    if (const auto result = value_of<std::uint8_t>(attrs[type])) return *result ? EINVAL : 0;
  return std::nullopt;
}

}  // namespace lossless::net
