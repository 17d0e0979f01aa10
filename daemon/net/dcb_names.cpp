// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb.h"

namespace lossless::net {

std::string_view to_string(DcbPart part) {
  switch (part) {
    case DcbPart::Mode:
      return "dcbx";
    case DcbPart::Ets:
      return "ets";
    case DcbPart::Pfc:
      return "pfc";
    case DcbPart::MaxRate:
      return "maxrate";
    case DcbPart::Buffers:
      return "buffer";
    case DcbPart::Apps:
      return "app";
    case DcbPart::Trust:
      return "apptrust";
    case DcbPart::Rewrite:
      return "rewr";
    case DcbPart::Cee:
      return "cee";
  }
  return "";
}

std::string_view selector_name(std::uint8_t selector) {
  switch (selector) {
    case IEEE_8021QAZ_APP_SEL_ETHERTYPE:
      return "ethtype";
    case IEEE_8021QAZ_APP_SEL_STREAM:
      return "stream-port";
    case IEEE_8021QAZ_APP_SEL_DGRAM:
      return "dgram-port";
    case IEEE_8021QAZ_APP_SEL_ANY:
      return "port";
    case IEEE_8021QAZ_APP_SEL_DSCP:
      return "dscp";
    case DCB_APP_SEL_PCP:
      return "pcp";
    default:
      return "";
  }
}

std::string_view tsa_name(std::uint8_t tsa) {
  switch (tsa) {
    case IEEE_8021QAZ_TSA_STRICT:
      return "strict";
    case IEEE_8021QAZ_TSA_CB_SHAPER:
      return "cbs";
    case IEEE_8021QAZ_TSA_ETS:
      return "ets";
    case IEEE_8021QAZ_TSA_VENDOR:
      return "vendor";
    default:
      return "reserved";
  }
}

std::string mode_text(std::uint8_t mode) {
  struct Flag {
    std::uint8_t bit;
    std::string_view name;
  };
  constexpr Flag kFlags[] = {{DCB_CAP_DCBX_HOST, "host"},
                             {DCB_CAP_DCBX_LLD_MANAGED, "firmware"},
                             {DCB_CAP_DCBX_VER_CEE, "cee"},
                             {DCB_CAP_DCBX_VER_IEEE, "ieee"},
                             {DCB_CAP_DCBX_STATIC, "static"}};
  std::string out;
  for (const Flag& flag : kFlags)
    if (mode & flag.bit) out.append(out.empty() ? "" : " ").append(flag.name);
  return out.empty() ? "none" : out;
}

}  // namespace lossless::net
