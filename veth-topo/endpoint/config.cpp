// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace lossless::endpoint {
namespace {

using Json = nlohmann::json;

// The first error wins; readers go on with defaults and the caller looks at the end.
struct Errors {
  std::string first;
  void add(const std::string& path, const std::string& what) {
    if (first.empty()) first = (path.empty() ? std::string("(top level)") : path) + ": " + what;
  }
};

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (const auto name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::string number_text(double v) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v).ptr;
  return {buffer.data(), end};
}

// One JSON object under `path`; remembers which keys were asked for, so that the others are errors.
class Object {
 public:
  Object(const Json& json, std::string path, Errors& errors) : path_(std::move(path)), errors_(errors) {
    if (json.is_object()) {
      json_ = &json;
    } else {
      errors_.add(path_, "is " + shown(json) + ", must be an object");
    }
  }

  const Json* find(const char* key) {
    known_.emplace_back(key);
    if (json_ == nullptr) return nullptr;
    const auto it = json_->find(key);
    return it == json_->end() ? nullptr : &*it;
  }
  std::string path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  void fail(const std::string& key, const std::string& what) { errors_.add(path(key), what); }

  std::uint64_t integer(const char* key, std::uint64_t low, std::uint64_t high, std::uint64_t otherwise) {
    const Json* v = find(key);
    return v == nullptr ? otherwise : checked_integer(key, *v, low, high, otherwise);
  }
  std::optional<std::uint64_t> optional_integer(const char* key, std::uint64_t low, std::uint64_t high) {
    const Json* v = find(key);
    if (v == nullptr || v->is_null()) return std::nullopt;
    return checked_integer(key, *v, low, high, low);
  }
  std::optional<double> optional_real(const char* key, double low, double high) {
    const Json* v = find(key);
    if (v == nullptr || v->is_null()) return std::nullopt;
    if (v->is_number() && v->get<double>() >= low && v->get<double>() <= high) return v->get<double>();
    fail(key, "is " + shown(*v) + ", must be a number from " + number_text(low) + " to " + number_text(high));
    return std::nullopt;
  }
  double real(const char* key, double low, double high, double otherwise) {
    return optional_real(key, low, high).value_or(otherwise);
  }
  bool boolean(const char* key, bool otherwise) {
    const Json* v = find(key);
    if (v == nullptr) return otherwise;
    if (!v->is_boolean()) fail(key, "is " + shown(*v) + ", must be true or false");
    return v->is_boolean() ? v->get<bool>() : otherwise;
  }
  std::string text(const char* key, const std::optional<std::string>& otherwise) {
    const Json* v = find(key);
    if (v != nullptr && v->is_string()) return v->get<std::string>();
    if (v != nullptr) fail(key, "is " + shown(*v) + ", must be a string");
    if (v == nullptr && !otherwise) fail(key, "is missing");
    return otherwise.value_or("");
  }
  // Index of a word in `words`.
  std::size_t word(const char* key, const std::vector<std::string_view>& words, std::size_t otherwise) {
    const Json* v = find(key);
    if (v == nullptr) return otherwise;
    const auto it = v->is_string() ? std::ranges::find(words, v->get<std::string>()) : words.end();
    if (it != words.end()) return static_cast<std::size_t>(it - words.begin());
    fail(key, "is " + shown(*v) + ", must be one of: " + listed(words));
    return otherwise;
  }
  // Elements of an array of objects.
  template <typename Use>
  void each(const char* key, const Use& use) {
    const Json* v = find(key);
    if (v == nullptr) return fail(key, "is missing");
    if (!v->is_array() || v->empty()) return fail(key, "must be an array with at least one element");
    for (std::size_t i = 0; i < v->size(); i++) {
      Object element((*v)[i], path(key) + "[" + std::to_string(i) + "]", errors_);
      use(element);
      element.finish();
    }
  }
  void finish() {
    if (json_ == nullptr) return;
    for (const auto& item : json_->items()) {
      if (std::ranges::find(known_, item.key()) == known_.end())
        errors_.add(path(item.key()), "is not known; known keys are: " + listed(known_));
    }
  }
  Errors& errors() { return errors_; }

 private:
  std::uint64_t checked_integer(const char* key, const Json& v, std::uint64_t low, std::uint64_t high,
                                std::uint64_t otherwise) {
    if (v.is_number_unsigned() && v.get<std::uint64_t>() >= low && v.get<std::uint64_t>() <= high)
      return v.get<std::uint64_t>();
    fail(key, "is " + shown(v) + ", must be an integer from " + std::to_string(low) + " to " +
                  std::to_string(high));
    return otherwise;
  }

  std::string path_;
  Errors& errors_;
  const Json* json_ = nullptr;
  std::vector<std::string_view> known_;
};

constexpr std::uint64_t kMaxMbps = 800'000;
constexpr double kMaxSeconds = 86'400;

Nanos ms_to_ns(double ms) { return static_cast<Nanos>(ms * 1e6); }
Nanos s_to_ns(double s) { return static_cast<Nanos>(s * 1e9); }
std::uint64_t mbps_to_bps(double mbps) { return static_cast<std::uint64_t>(mbps * 1e6); }

bool parse_mac(const std::string& text, std::array<std::uint8_t, 6>& mac) {
  if (text.size() != 17) return false;
  for (std::size_t i = 0; i < mac.size(); i++) {
    const char* at = text.data() + i * 3;
    const auto [end, error] = std::from_chars(at, at + 2, mac[i], 16);
    if (error != std::errc{} || end != at + 2 || (i < 5 && at[2] != ':')) return false;
  }
  return (mac[0] & 1) == 0;
}

bool parse_ip(const std::string& text, Address& address) {
  if (inet_pton(AF_INET, text.c_str(), address.ip.data()) == 1) return true;
  address.v6 = inet_pton(AF_INET6, text.c_str(), address.ip.data()) == 1;
  return address.v6;
}

// A rate in Mbit/s that must be given.
std::uint64_t link_rate(Object& o) {
  const auto mbps = o.optional_real("link_mbps", 0.1, kMaxMbps);
  if (!mbps) o.fail("link_mbps", "is missing; the rate of the host's link in Mbit/s");
  return mbps_to_bps(mbps.value_or(1));
}

HostConfig parse_host(Object& o) {
  HostConfig h;
  h.name = o.text("name", std::nullopt);
  h.netns = o.text("netns", "");
  h.dev = o.text("dev", std::nullopt);
  const std::string mac = o.text("mac", std::nullopt);
  const std::string ip = o.text("ip", std::nullopt);
  h.link_bps = link_rate(o);
  if (h.name.empty()) o.fail("name", "must not be empty");
  if (h.dev.empty() || h.dev.size() > 15)
    o.fail("dev", "is \"" + h.dev + "\", must be an interface name of 1 to 15 characters");
  if (h.netns.find('/') != std::string::npos)
    o.fail("netns", "is \"" + h.netns + "\", must be a name under /run/netns");
  if (!parse_mac(mac, h.address.mac))
    o.fail("mac", "is \"" + mac + "\", must be a unicast MAC like 02:00:0a:00:00:01");
  if (!parse_ip(ip, h.address)) o.fail("ip", "is \"" + ip + "\", must be an IPv4 or IPv6 address");
  return h;
}

SizeDistribution parse_points(Object& o) {
  std::vector<SizePoint> points;
  const Json* v = o.find("points");
  const char* rule = "must be an array of [bytes, share], shares rising up to 1";
  if (v == nullptr || !v->is_array() || v->empty()) {
    o.fail("points", rule);
    return SizeDistribution::fixed(1);
  }
  for (const Json& p : *v) {
    const bool pair = p.is_array() && p.size() == 2 && p[0].is_number_unsigned() && p[1].is_number();
    if (!pair || p[0].get<std::uint64_t>() > (1u << 30) || p[1].get<double>() < 0 || p[1].get<double>() > 1 ||
        (!points.empty() &&
         (p[1].get<double>() <= points.back().share || p[0].get<std::uint64_t>() < points.back().bytes))) {
      o.fail("points", "has " + shown(p) + "; " + rule + ", bytes at most 1073741824");
      return SizeDistribution::fixed(1);
    }
    points.push_back({p[0].get<std::uint64_t>(), p[1].get<double>()});
  }
  if (points.back().share != 1.0)
    o.fail("points", "ends at " + number_text(points.back().share) + ", the last share must be 1");
  return SizeDistribution(std::move(points));
}

SizeDistribution parse_size(Object& flow) {
  const Json* v = flow.find("size");
  if (v == nullptr) return SizeDistribution::fixed(1 << 20);
  Object o(*v, flow.path("size"), flow.errors());
  const std::size_t kind = o.word("dist", {"fixed", "websearch", "cdf"}, 0);
  SizeDistribution size = SizeDistribution::fixed(1);
  if (kind == 0) {
    size = SizeDistribution::fixed(o.integer("bytes", 1, 1u << 30, 1 << 20));
  } else if (kind == 1) {
    const auto points = web_search_sizes();
    size = SizeDistribution({points.begin(), points.end()});
  } else {
    size = parse_points(o);
  }
  o.finish();
  return size;
}

std::optional<double> parse_arrival(Object& flow) {
  const Json* v = flow.find("arrival");
  if (v == nullptr) return std::nullopt;
  Object o(*v, flow.path("arrival"), flow.errors());
  std::optional<double> load;
  if (o.word("mode", {"closed", "poisson"}, 0) == 1) {
    load = o.optional_real("load", 0.001, 10);
    if (!load) o.fail("load", "is missing; a share of the sender's link from 0.001 to 10");
  }
  o.finish();
  return load;
}

std::uint32_t parse_mtu(Object& o) {
  const auto mtu = static_cast<std::uint32_t>(o.integer("mtu", 256, 4096, 1024));
  if ((mtu & (mtu - 1)) != 0)
    o.fail("mtu", "is " + std::to_string(mtu) + ", must be 256, 512, 1024, 2048 or 4096");
  return mtu;
}

// Enough for a NIC that has no window of its own: 512 KiB per QP keep a queue of 1 MB full with three QPs.
constexpr std::uint32_t kDefaultWindowBytes = 512 * 1024;

FlowConfig parse_flow(Object& o, const std::map<std::string, std::uint32_t>& hosts) {
  FlowConfig f;
  const auto host = [&](const char* key) -> std::uint32_t {
    const std::string name = o.text(key, std::nullopt);
    const auto it = hosts.find(name);
    if (it != hosts.end()) return it->second;
    o.fail(key, "is \"" + name + "\", which is no host");
    return 0;
  };
  f.from = host("from");
  f.to = host("to");
  f.qps = static_cast<std::uint32_t>(o.integer("qps", 1, 4096, 1));
  f.write = o.word("op", {"write", "send"}, 0) == 0;
  f.size = parse_size(o);
  f.load = parse_arrival(o);
  f.dscp = static_cast<std::uint8_t>(o.integer("dscp", 0, 63, 26));
  f.ecn = static_cast<std::uint8_t>(o.word("ecn", {"not-ect", "ect1", "ect0"}, 2));
  if (const auto pcp = o.optional_integer("vlan_pcp", 0, 7)) f.pcp = static_cast<std::uint8_t>(*pcp);
  f.mtu = parse_mtu(o);
  f.start_ns = ms_to_ns(o.real("start_ms", 0, kMaxSeconds * 1e3, 0));
  f.messages = o.optional_integer("messages", 1, 1'000'000'000);
  f.window_packets = static_cast<std::uint32_t>(
      o.optional_integer("window_packets", 1, 1u << 22).value_or(kDefaultWindowBytes / f.mtu));
  f.ack_every = static_cast<std::uint32_t>(o.integer("ack_every", 1, 4096, 4));
  f.timeout_ns = ms_to_ns(o.real("timeout_ms", 0.1, 60'000, 250));
  return f;
}

DcqcnConfig parse_dcqcn(Object& top) {
  DcqcnConfig d;
  const Json* v = top.find("dcqcn");
  static const Json empty = Json::object();
  Object o(v == nullptr ? empty : *v, top.path("dcqcn"), top.errors());
  d.np = o.boolean("np", true);
  d.rp = o.boolean("rp", true);
  d.cnp_dscp = static_cast<std::uint8_t>(o.integer("cnp_dscp", 0, 63, 48));
  const auto scaled = [&](const char* key, double low, double high,
                          double factor) -> std::optional<std::uint64_t> {
    const auto value = o.optional_real(key, low, high);
    return value ? std::optional(static_cast<std::uint64_t>(*value * factor)) : std::nullopt;
  };
  d.cnp_interval_ns = scaled("cnp_interval_us", 0, 1e7, 1e3);
  d.cut_interval_ns = scaled("cut_interval_us", 0, 1e7, 1e3);
  d.alpha_interval_ns = scaled("alpha_interval_us", 1, 1e7, 1e3);
  d.rate_interval_ns = scaled("rate_interval_us", 1, 1e7, 1e3);
  d.byte_counter = o.optional_integer("byte_counter", 0, 1ull << 40);
  d.ai_bps = scaled("ai_mbps", 0.001, kMaxMbps, 1e6);
  d.hai_bps = scaled("hai_mbps", 0.001, kMaxMbps, 1e6);
  d.min_bps = scaled("min_mbps", 0.001, kMaxMbps, 1e6);
  d.g_shift = static_cast<std::optional<std::uint32_t>>(o.optional_integer("g_shift", 1, 16));
  d.fast_recovery = static_cast<std::optional<std::uint32_t>>(o.optional_integer("fast_recovery", 1, 1000));
  o.finish();
  return d;
}

void parse_hosts(Object& o, Config& c, std::map<std::string, std::uint32_t>& names) {
  o.each("hosts", [&](Object& host) {
    HostConfig h = parse_host(host);
    if (!names.emplace(h.name, c.hosts.size()).second)
      host.fail("name", "is \"" + h.name + "\", which another host has");
    for (const HostConfig& other : c.hosts) {
      if (other.address.ip == h.address.ip && other.address.v6 == h.address.v6)
        host.fail("ip", "is the one of host " + other.name);
    }
    c.hosts.push_back(std::move(h));
  });
}

void parse_flows(Object& o, Config& c, const std::map<std::string, std::uint32_t>& names) {
  o.each("flows", [&](Object& flow) {
    FlowConfig f = parse_flow(flow, names);
    if (f.from < c.hosts.size() && f.to < c.hosts.size()) {
      if (f.from == f.to) flow.fail("to", "is the sender itself");
      if (c.hosts[f.from].address.v6 != c.hosts[f.to].address.v6)
        flow.fail("to", "has another IP version than \"from\"");
    }
    c.flows.push_back(std::move(f));
  });
}

}  // namespace

std::expected<Config, std::string> parse_config(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& e) {
    return std::unexpected(std::string("not valid JSON: ") + e.what());
  }
  Errors errors;
  Object o(json, "", errors);
  Config c;
  c.seed = o.integer("seed", 0, std::numeric_limits<std::uint64_t>::max(), 1);
  const double duration = o.real("duration_s", 0.01, kMaxSeconds, 5);
  c.duration_ns = s_to_ns(duration);
  c.warmup_ns = s_to_ns(o.real("warmup_s", 0, kMaxSeconds, std::min(0.5, duration / 4)));
  if (c.warmup_ns >= c.duration_ns) o.fail("warmup_s", "must be shorter than duration_s");
  c.finish_ns = s_to_ns(o.real("finish_s", 0, kMaxSeconds, 2));
  c.quiesce_ns = s_to_ns(o.real("quiesce_s", 0.2, 60, 3));
  if (const auto cpu = o.optional_integer("cpu", 0, 1023)) c.cpu = static_cast<unsigned>(*cpu);
  c.rt_priority = static_cast<int>(o.integer("rt_priority", 0, 99, 0));
  c.cm = o.boolean("cm", true);
  c.cm_dscp = static_cast<std::uint8_t>(o.integer("cm_dscp", 0, 63, 0));
  c.mice_bytes = o.integer("mice_bytes", 0, 1u << 30, 100'000);
  c.link_burst_ns = static_cast<Nanos>(o.real("link_burst_us", 0, 1e6, 200) * 1e3);
  std::map<std::string, std::uint32_t> names;
  parse_hosts(o, c, names);
  parse_flows(o, c, names);
  c.dcqcn = parse_dcqcn(o);
  o.finish();
  if (!errors.first.empty()) return std::unexpected(errors.first);
  return c;
}

ll_dcqcn_params dcqcn_for_link(const DcqcnConfig& dcqcn, std::uint64_t link_bps) {
  constexpr std::uint64_t kReactBytes = 100'000;  // a NIC at 25 Gbit/s sends about as much in 50 us
  const Nanos react = serialization_ns(kReactBytes, link_bps);
  ll_dcqcn_params p = ll_dcqcn_defaults();
  p.cnp_interval_ns = dcqcn.cnp_interval_ns.value_or(p.cnp_interval_ns);
  p.cut_interval_ns = dcqcn.cut_interval_ns.value_or(std::max<Nanos>(p.cut_interval_ns, react));
  p.alpha_interval_ns = dcqcn.alpha_interval_ns.value_or(std::max<Nanos>(p.alpha_interval_ns, react));
  p.rate_interval_ns = dcqcn.rate_interval_ns.value_or(std::max<Nanos>(p.rate_interval_ns, react));
  p.byte_counter = dcqcn.byte_counter.value_or(p.byte_counter);
  // 40 and 200 Mbit/s of a 25 Gbit/s link, as shares.
  p.ai_bps = dcqcn.ai_bps.value_or(std::max<std::uint64_t>(1, link_bps / 625));
  p.hai_bps = dcqcn.hai_bps.value_or(std::max<std::uint64_t>(1, link_bps / 125));
  p.min_bps = dcqcn.min_bps.value_or(std::max<std::uint64_t>(1, link_bps / 1000));
  p.g_shift = dcqcn.g_shift.value_or(p.g_shift);
  p.fast_recovery = dcqcn.fast_recovery.value_or(p.fast_recovery);
  return p;
}

}  // namespace lossless::endpoint
